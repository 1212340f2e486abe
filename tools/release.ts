import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { build, projectRoot } from './buildOutput';
import { packTarball } from './packTarball';
import { releaseProblems, tagOf } from './releaseProblems';

const USAGE = `npm run release                a dry run: everything up to npm publish --dry-run
npm run release -- --publish   the same, then npm publish and a tag
npm run release -- --quick     a dry run without npm run check and npm test`;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository: { readonly url: string };
}

/** `npm run release`: checks that a version can go out. Publishes only if it is told to. */
function main(args: readonly string[]): void {
  const [flag, ...more] = args;
  if (more.length > 0 || (flag !== undefined && flag !== '--publish' && flag !== '--quick')) throw new Failure(USAGE);
  const { name, version, repository } = readJson('package.json') as Manifest;
  say(`${name} ${version}${flag === '--publish' ? '' : ' (dry run)'}`);
  const problems = releaseProblems({
    version,
    lockVersion: (readJson('package-lock.json') as { version?: string }).version,
    repository: repository.url,
    changelog: fs.readFileSync(path.join(projectRoot, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
  });
  if (problems.length > 0) throw new Failure(problems.join('\n'));
  if (flag !== '--quick') for (const script of ['check', 'test']) runScript(script);
  build();
  const tarball = packTarball();
  try {
    run('tar', ['-tzf', tarball]);
    if (flag === '--publish') publish(tarball, tagOf(version));
    else {
      if (flag === undefined) run('npm', ['publish', tarball, '--access', 'public', '--dry-run']);
      say('Dry run: nothing was published. `npm run release -- --publish` does it.');
    }
  } finally {
    fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
  }
}

/**
 * Exactly the tarball that was looked at. From a workflow with the right to sign (`id-token: write`) it is published with
 * a provenance statement, which says from which commit and by which workflow it was made.
 */
function publish(tarball: string, tag: string): void {
  const canSign = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined;
  run('npm', ['publish', tarball, '--access', 'public', ...(canSign ? ['--provenance'] : [])]);
  git('tag', '--annotate', tag, '--message', tag);
  say(`Published. Push the tag: git push origin ${tag}`);
}

function runScript(script: string): void {
  say(`npm run ${script} ...`);
  run('npm', ['run', script]);
}

function run(file: string, args: readonly string[]): void {
  try {
    execFileSync(file, args, { cwd: projectRoot, stdio: 'inherit', shell: process.platform === 'win32' });
  } catch {
    throw new Failure(`${file} ${args.join(' ')} failed`);
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' }).trim();
}

function readJson(file: string): unknown {
  return JSON.parse(fs.readFileSync(path.join(projectRoot, file), 'utf8'));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Printed without a stack. */
class Failure extends Error {}

try {
  main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Failure ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
