import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { build, projectRoot } from './buildOutput';
import { packTarball } from './packTarball';
import { RedisServer } from './redisServer';
import { type Candidate, LocalRegistry, rehearse } from './rehearsal';
import { isAtLeast, releaseProblems, tagOf } from './releaseProblems';
import { sbomOf } from './sbom';
import { tarballDifferences } from './tarballs';

const USAGE = `npm run release                                a dry run: everything up to npm publish --dry-run
npm run release -- --quick                     a dry run without npm run check and npm test
npm run release -- --out <folder>              a dry run that leaves the tarball and the list of its parts (SBOM)
npm run release -- --rehearse                  publishes to a registry on this machine, installs from there, takes a lock
npm run release -- --publish-tested <folder>   publishes what --out has left, if this machine packs the same bytes; tags
npm run release -- --publish                   all of it here: a dry run, then npm publish and a tag`;

/** The oldest npm that can publish without a token, as a workflow that the registry knows. */
const TRUSTED_PUBLISHING = [11, 5, 1];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository: { readonly url: string };
}

/** `npm run release`: checks that a version can go out. Publishes only if it is told to. */
async function main([flag, folder, ...more]: readonly string[]): Promise<void> {
  const takesFolder = flag === '--out' || flag === '--publish-tested';
  const known = takesFolder || [undefined, '--publish', '--quick', '--rehearse'].includes(flag);
  if (!known || more.length > 0 || takesFolder !== (folder !== undefined)) throw new Failure(USAGE);
  const { name, version, repository } = readJson('package.json') as Manifest;
  const publishes = flag === '--publish' || flag === '--publish-tested';
  say(`${name} ${version}${publishes ? '' : ' (dry run)'}`);
  if (flag === '--rehearse') return withTarball((tarball) => rehearsal({ tarball, name, version }));
  const problems = releaseProblems({
    version,
    lockVersion: (readJson('package-lock.json') as { version?: string }).version,
    repository: repository.url,
    changelog: fs.readFileSync(path.join(projectRoot, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
  });
  if (problems.length > 0) throw new Failure(problems.join('\n'));
  if (flag === '--publish-tested') {
    const tested = path.join(folder!, `${name}-${version}.tgz`);
    return withTarball((tarball) => {
      const differences = tarballDifferences(tested, tarball);
      if (differences.length > 0) throw new Failure(`${tested} is not what is packed here:\n${differences.join('\n')}`);
      publish(path.resolve(tested), tagOf(version));
    });
  }
  if (flag !== '--quick') for (const script of ['check', 'test']) runScript(script);
  await withTarball((tarball) => {
    run('tar', ['-tzf', tarball]);
    if (flag === '--publish') return publish(tarball, tagOf(version));
    if (flag !== '--quick') run('npm', ['publish', tarball, '--access', 'public', '--dry-run']);
    if (folder !== undefined) {
      fs.mkdirSync(folder, { recursive: true });
      fs.copyFileSync(tarball, path.join(folder, path.basename(tarball)));
      const sbom = path.join(folder, `${name}-${version}.cdx.json`);
      fs.writeFileSync(sbom, `${JSON.stringify(sbomOf(tarball), null, 2)}\n`);
    }
    say('Dry run: nothing was published. `npm run release -- --publish` does it.');
  });
}

/** Builds, packs, and removes the tarball afterwards. */
async function withTarball(use: (tarball: string) => void | Promise<void>): Promise<void> {
  build();
  const tarball = packTarball();
  try {
    await use(tarball);
  } finally {
    fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
  }
}

async function rehearsal(candidate: Candidate): Promise<void> {
  const registry = await LocalRegistry.start();
  if (registry === undefined) throw new Failure('The package of the local registry (verdaccio) cannot be installed.');
  try {
    const server = await RedisServer.start();
    try {
      const problems = await rehearse(registry, candidate, server.url);
      if (problems.length > 0) throw new Failure(problems.join('\n'));
      say(
        'Rehearsed: published to a local registry, installed from there, and a lock was taken, by ESM and by CommonJS.',
      );
    } finally {
      await server.stop();
    }
  } finally {
    registry.stop();
  }
}

/**
 * Exactly the tarball that was looked at. From a workflow with the right to sign (`id-token: write`) it is published with
 * a provenance statement, which says from which commit and by which workflow it was made.
 */
function publish(tarball: string, tag: string): void {
  const canSign = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined;
  if (canSign) {
    const version = execFileSync('npm', ['--version'], {
      encoding: 'utf8',
      shell: process.platform === 'win32',
    }).trim();
    if (!isAtLeast(version, TRUSTED_PUBLISHING))
      throw new Failure(`npm ${version} is older than ${TRUSTED_PUBLISHING.join('.')}: take a later Node`);
  }
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

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Failure ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
