import { allScripts, scriptFiles } from './scripts';

// `npm run scripts:print [-- name]`: the scripts as Redis gets them. A name may be a part of one: `fairLock`.

const wanted = process.argv[2] ?? '';
const parts = scriptFiles().flatMap(({ file, scripts }) =>
  scripts
    .filter(({ name }) => name.includes(wanted))
    .map(({ name, keys, channels, args, resend, sha, lua }) =>
      [
        `-- ${name} (${file})`,
        `-- keys: ${list(keys)}; channels among them: ${list(channels)}; arguments: ${list(args)}`,
        `-- resend: ${resend}; sha: ${sha}; ${Buffer.byteLength(lua)} bytes`,
        lua,
      ].join('\n'),
    ),
);

if (parts.length > 0) {
  process.stdout.write(`${parts.join('\n\n')}\n`);
} else {
  const names = allScripts().map(({ name }) => `  ${name}\n`);
  process.stderr.write(`No script is called ${wanted}. There are:\n${names.join('')}`);
  process.exitCode = 1;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
