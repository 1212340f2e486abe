import { execFile, execFileSync } from 'node:child_process';
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { LocalRegistry, rehearse, tryPublished } from '../../tools/rehearsal';
import { RedisServer, skip } from '../support';

/** The steps of "Releases" in CONTRIBUTING.md, in a copy of this checkout, with the commands that the guide names. */
describe('a release', function () {
  this.timeout(600_000);
  const version = '99.1.0-rc.1';
  let registry: LocalRegistry | undefined;
  let server: RedisServer;
  let copy: string;
  const inCopy = (file: string): string => path.join(copy, file);
  const tarball = (): string => inCopy(`release/ioredisson-${version}.tgz`);

  before(async function () {
    registry = await LocalRegistry.start();
    if (registry === undefined) skip(this, 'verdaccio cannot be installed');
    server = await RedisServer.start();
    copy = copyOfCheckout();
  });

  after(async () => {
    registry?.stop();
    await server?.stop();
    if (copy !== undefined) fs.rmSync(copy, { recursive: true, force: true });
  });

  /** Runs a command in the copy. @returns what it prints; rejects with that if it fails */
  function run(command: string, ...args: string[]): Promise<string> {
    const npmrc = path.join(copy, '.git', 'npmrc');
    fs.writeFileSync(npmrc, registry!.npmrc);
    const env = { ...process.env, npm_config_userconfig: npmrc, ACTIONS_ID_TOKEN_REQUEST_URL: undefined };
    return new Promise((resolve, reject) => {
      execFile(command, args, { cwd: copy, env, maxBuffer: 1e8 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`));
      });
    });
  }
  const npmRun = (...args: string[]): Promise<string> => run('npm', 'run', '--silent', ...args);
  const commit = (subject: string): Promise<string> => run('git', 'commit', '--all', '--quiet', '--message', subject);
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it succeeded',
      (error: Error) => error.message,
    );

  it('is refused while the account is a placeholder, and names each file', async () => {
    await run('sed', '-i', 's#github.com/[^/]*/ioredisson#github.com/OWNER/ioredisson#', 'docs/grafana/alerts.yml');
    const problems = await failure(npmRun('release', '--', '--quick'));
    expect(problems).to.match(/"OWNER" is a placeholder in .*docs\/grafana\/alerts\.yml.*: npm run owner/);
  });

  it('`npm run owner` names the account everywhere', async () => {
    const changed = await npmRun('owner', '--', 'some-body');
    expect(changed).to.include('docs/grafana/alerts.yml');
    expect(await failure(npmRun('owner', '--', 'some body'))).to.include('got some body');
    const { repository } = JSON.parse(fs.readFileSync(inCopy('package.json'), 'utf8')) as { repository: { url: string } };
    expect(repository.url).to.equal('git+https://github.com/some-body/ioredisson.git');
    expect(fs.readFileSync(inCopy('.github/CODEOWNERS'), 'utf8')).to.equal('* @some-body\n');
    await commit('Name the owner');
    expect(await failure(npmRun('release', '--', '--quick'))).not.to.include('placeholder');
  });

  it('`npm run release -- --prepare` sets the version and dates the changelog', async () => {
    const changelog = inCopy('CHANGELOG.md');
    const text = fs.readFileSync(changelog, 'utf8');
    // There is always something to release.
    const before = text.includes('## Unreleased\n') ? text : text.replace(/^## /m, '## Unreleased\n\n## ');
    fs.writeFileSync(changelog, before.replace('## Unreleased\n', '## Unreleased\n\n- Something.\n'));
    await npmRun('release', '--', '--prepare', version);
    expect(fs.readFileSync(changelog, 'utf8')).to.match(/^## 99\.1\.0-rc\.1 - \d{4}-\d\d-\d\d$/m);
    await commit(`Release ${version}`);
  });

  it('keeps its promises after that: the tests that read the version, the changelog and the account', async () => {
    const files = ['test/package/promises.test.ts', 'test/unit/tools/**/*.test.ts', 'test/unit/util/version.test.ts'];
    const pages = ['test/structure/docs*.test.ts', 'test/structure/promises.test.ts'];
    const mocha = path.join(projectRoot, 'node_modules', 'mocha', 'bin', 'mocha.js');
    expect(await run(process.execPath, mocha, ...files, ...pages)).to.match(/\b[1-9]\d* passing/);
  });

  it('leaves a tarball and its list of parts', async () => {
    await npmRun('release', '--', '--quick', '--out', 'release');
    expect(fs.readdirSync(inCopy('release')).sort()).to.deep.equal([
      `ioredisson-${version}.cdx.json`,
      `ioredisson-${version}.tgz`,
    ]);
  });

  it('publishes what was tested, under the tag of a pre-release, and sets the tag of git', async () => {
    await npmRun('release', '--', '--publish-tested', 'release');
    expect(await run('git', 'tag', '--list')).to.equal(`v${version}\n`);
    expect(await run('npm', 'view', 'ioredisson', 'dist-tags.next')).to.equal(`${version}\n`);
    const again = await failure(npmRun('release', '--', '--publish-tested', 'release'));
    expect(again).to.include(`the tag v${version} exists already`);
  });

  it('what was published can be installed, and takes a lock (ESM and CJS)', async () => {
    const candidate = { tarball: tarball(), name: 'ioredisson', version };
    expect(await tryPublished(registry!, candidate, server.url)).to.deep.equal([]);
  });

  it('takes its notes from the changelog', async () => {
    const notes = await npmRun('release', '--', '--notes');
    expect(notes.trim()).not.to.equal('');
    expect(notes).not.to.match(/^## /m);
    expect(fs.readFileSync(inCopy('CHANGELOG.md'), 'utf8')).to.include(notes.trim());
  });

  it('is the previous package of what follows', async () => {
    await npmRun('previous');
    await npmRun('docs:wire');
    const { name } = JSON.parse(fs.readFileSync(inCopy('test/package/previous/previous.json'), 'utf8')) as { name: string };
    expect(name).to.equal(version);
    expect(fs.readFileSync(inCopy('docs/wire.md'), 'utf8')).to.include(`The previous package is ${version}, `);
  });

  it('a rehearsal says what went wrong', async () => {
    const nobody = inCopy('missing.tgz');
    const [problem, ...more] = await rehearse(registry!, { tarball: nobody, name: 'x', version: '1.0.0' }, server.url);
    expect(problem).to.match(/^publish \(exit code [1-9]/);
    expect(more).to.deep.equal([]);
  });

  it('options that do not go together are refused with the usage', async () => {
    for (const wrong of [['--notes', '--publish'], ['--nothing'], ['--prepare', '1.0']])
      expect(await failure(npmRun('release', '--', ...wrong)), wrong.join(' ')).to.include('npm run release -- --out');
  });
});

/** A checkout of its own with the files as they are here, committed. It shares the installed dependencies. */
function copyOfCheckout(): string {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-release-'));
  const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });
  const files = git(projectRoot, 'ls-files', '--cached', '--others', '--exclude-standard', '-z').split('\0');
  for (const file of files) {
    if (file === '' || !fs.existsSync(path.join(projectRoot, file))) continue;
    fs.mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
    fs.copyFileSync(path.join(projectRoot, file), path.join(copy, file));
  }
  fs.symlinkSync(path.join(projectRoot, 'node_modules'), path.join(copy, 'node_modules'));
  git(copy, 'init', '--quiet', '--initial-branch', 'main');
  fs.appendFileSync(path.join(copy, '.git', 'info', 'exclude'), 'node_modules\n');
  for (const [key, value] of [['user.name', 'somebody'], ['user.email', 'somebody@localhost']])
    git(copy, 'config', key!, value!);
  git(copy, 'add', '--all');
  git(copy, 'commit', '--quiet', '--message', 'All');
  return copy;
}
