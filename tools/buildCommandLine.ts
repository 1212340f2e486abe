import { build, type Plugin } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { libraryEntries } from './buildLibrary';
import { writeLicences } from './buildLicences';
import { projectRoot } from './buildOutput';

const lib = path.join(projectRoot, 'lib');
const COMMAND = 'operators/cli';
/** Functions without classes and states: the command may have a copy of its own. */
const COPIED = ['util/readableTime'];

/**
 * The command as one file, `operators/cli/main.js`, with the packages that only it needs, so that nobody installs them
 * with the library. The library itself is not in it: it is beside it. `LICENSES.txt` has the licences of those
 * packages.
 */
export async function writeCommandLine(folder: string): Promise<void> {
  const target = path.join(folder, COMMAND, 'main.js');
  const { dependencies, peerDependencies } = readManifest(projectRoot);
  const { metafile } = await build({
    absWorkingDir: projectRoot,
    entryPoints: [path.join(lib, COMMAND, 'main.ts')],
    outfile: target,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    charset: 'utf8',
    // Before the shebang nothing may stand, and behind it nothing need.
    legalComments: 'none',
    // Half of it are packages of others. Names of errors are those of their classes.
    minify: true,
    keepNames: true,
    logLevel: 'warning',
    external: [...Object.keys({ ...dependencies, ...peerDependencies })],
    plugins: [libraryBeside],
    metafile: true,
  });
  fs.chmodSync(target, 0o755);
  writeLicences(path.join(folder, COMMAND), Object.keys(metafile.inputs));
}

/** The entry points of the library are loaded from their files: whatever has a class or a state exists once. */
const libraryBeside: Plugin = {
  name: 'library beside',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\// }, ({ path: specifier, resolveDir }) => {
      const target = path
        .relative(lib, path.join(resolveDir, specifier))
        .replaceAll('\\', '/')
        .replace(/(^|\/)index$/, '');
      if (!resolveDir.startsWith(path.join(lib, COMMAND)) || target.startsWith(COMMAND) || COPIED.includes(target))
        return undefined;
      if (!libraryEntries().includes(target)) {
        // A second copy of classes and states would be in the command.
        return { errors: [{ text: `lib/${target} is no entry point: add it to INTERNAL_ENTRIES in buildLibrary.ts` }] };
      }
      return { path: path.posix.join(path.posix.relative(COMMAND, target), 'index.js'), external: true };
    });
  },
};

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}
