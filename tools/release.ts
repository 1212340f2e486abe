import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { build, projectRoot } from './buildOutput';
import { sectionOf, withRelease } from './changelog';
import { hasPlaceholder, trackedTexts } from './ownerPlaces';
import { packTarball } from './packTarball';
import { RedisServer } from './redisServer';
import { type Candidate, LocalRegistry, rehearse } from './rehearsal';
import { distTagOf, isAtLeast, isVersion, releaseProblems, tagOf } from './releaseProblems';
import { sbomOf } from './sbom';
import { tarballDifferences } from './tarballs';

const USAGE = `npm run release -- --prepare <version>         sets the version, and dates the entry of the changelog
npm run release                                a dry run: everything up to npm publish --dry-run
npm run release -- --quick                     a dry run without npm run check and npm test
npm run release -- --out <folder>              a dry run that leaves the tarball and the list of its parts (SBOM)
npm run release -- --rehearse                  publishes to a registry on this machine, installs from there, takes a lock
npm run release -- --publish-tested <folder>   publishes what --out has left, if this machine packs the same bytes; tags
npm run release -- --publish                   all of it here: a dry run, then npm publish and a tag
npm run release -- --notes                     prints what the changelog says of the version`;

/** The oldest npm that can publish without a token, as a workflow that the registry knows. */
const TRUSTED_PUBLISHING = [11, 5, 1];

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/** `npm run release`: checks that a version can go out. Publishes only if it is told to. */
async function main(args: string[]): Promise<void> {
  const options = readOptions(args);
  if (options.prepare !== undefined) return prepare(options.prepare);
  const { name, version } = readJson('package.json') as Manifest;
  const changelog = read('CHANGELOG.md');
  if (options.notes) return say(notesOf(changelog, version));
  const tested = options['publish-tested'];
  const publishes = options.publish || tested !== undefined;
  say(`${name} ${version}${publishes ? '' : ' (dry run)'}`);
  if (options.rehearse) return withTarball((tarball) => rehearsal({ tarball, name, version }));
  const problems = releaseProblems({
    version,
    lockVersion: (readJson('package-lock.json') as { version?: string }).version,
    placeholders: trackedTexts(projectRoot).flatMap(({ file, text }) => (hasPlaceholder(text) ? [file] : [])),
    changelog,
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
  });
  if (problems.length > 0) throw new Failure(problems.join('\n'));
  if (tested !== undefined) {
    const file = path.join(tested, `${name}-${version}.tgz`);
    return withTarball((tarball) => {
      const differences = tarballDifferences(file, tarball);
      if (differences.length > 0) throw new Failure(`${file} is not what is packed here:\n${differences.join('\n')}`);
      publish(path.resolve(file), version);
    });
  }
  if (!options.quick) for (const script of ['check', 'test']) runScript(script);
  await withTarball((tarball) => {
    run('tar', ['-tzf', tarball]);
    if (options.publish) return publish(tarball, version);
    const { out } = options;
    if (!options.quick)
      run('npm', ['publish', tarball, '--access', 'public', '--tag', distTagOf(version), '--dry-run']);
    if (out !== undefined) {
      fs.mkdirSync(out, { recursive: true });
      fs.copyFileSync(tarball, path.join(out, path.basename(tarball)));
      const sbom = path.join(out, `${name}-${version}.cdx.json`);
      fs.writeFileSync(sbom, `${JSON.stringify(sbomOf(tarball), null, 2)}\n`);
    }
    say('Dry run: nothing was published. `npm run release -- --publish` does it.');
  });
}

const FLAG = { type: 'boolean', default: false } as const;
const TEXT = { type: 'string' } as const;
const OPTIONS = {
  prepare: TEXT,
  quick: FLAG,
  out: TEXT,
  rehearse: FLAG,
  'publish-tested': TEXT,
  publish: FLAG,
  notes: FLAG,
} as const;

/** @throws Failure with the usage if an option is unknown, or two do not go together */
function readOptions(args: string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'] {
  try {
    const { values } = parseArgs({ args, options: OPTIONS, strict: true });
    const given = Object.entries(values)
      .filter(([, value]) => value !== false)
      .map(([name]) => name);
    // A dry run may be quick and leave the tarball; everything else stands alone.
    if (given.length > 1 && given.sort().join() !== 'out,quick') throw new Failure(USAGE);
    return values;
  } catch {
    throw new Failure(USAGE);
  }
}

/** Sets the version wherever it stands, and dates the entry of the changelog. */
function prepare(version: string): void {
  if (!isVersion(version)) throw new Failure(`got "${version}", which is no version\n${USAGE}`);
  const changelog = read('CHANGELOG.md');
  const dated = withRelease(changelog, version, new Date().toISOString().slice(0, 10));
  run('npm', ['version', '--no-git-tag-version', '--allow-same-version', version]);
  const file = 'lib/util/version.ts';
  write(file, read(file).replace(/(VERSION = )'[^']*'/, `$1'${version}'`));
  write('CHANGELOG.md', dated);
  say(`Set to ${version}. Read CHANGELOG.md once more, and commit.`);
}

/** @throws Failure if the changelog has no entry for the version */
function notesOf(changelog: string, version: string): string {
  const notes = sectionOf(changelog, version)?.trim();
  if (notes === undefined || notes === '') throw new Failure(`CHANGELOG.md has no entry for ${version}`);
  return notes;
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
 * Exactly the tarball that was looked at. From a workflow with the right to sign (`id-token: write`) it is published
 * with a provenance statement, which says from which commit and by which workflow it was made.
 */
function publish(tarball: string, version: string): void {
  const tag = tagOf(version);
  const canSign = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined;
  if (canSign) {
    const npm = execFileSync('npm', ['--version'], { encoding: 'utf8', shell: process.platform === 'win32' }).trim();
    if (!isAtLeast(npm, TRUSTED_PUBLISHING))
      throw new Failure(`npm ${npm} is older than ${TRUSTED_PUBLISHING.join('.')}: take a later Node`);
  }
  const signed = canSign ? ['--provenance'] : [];
  run('npm', ['publish', tarball, '--access', 'public', '--tag', distTagOf(version), ...signed]);
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
  return JSON.parse(read(file));
}

function read(file: string): string {
  return fs.readFileSync(path.join(projectRoot, file), 'utf8');
}

function write(file: string, text: string): void {
  fs.writeFileSync(path.join(projectRoot, file), text);
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
