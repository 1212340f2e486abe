import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { npm } from './installFolder';
import { sha512Of } from './previous';
import { distTagOf } from './releaseProblems';
import { sleep } from './realTimers';

/**
 * Not a dependency of the package: installed into a temporary folder. This is the last version for Node 20. It asks for
 * a tag of node-fetch, which not every registry has.
 */
const REGISTRY_PACKAGES = { dependencies: { verdaccio: '6.8.0' }, overrides: { 'node-fetch': '2.7.0' } };
const START_MS = 30_000;

/** How a command has ended. */
export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** A registry on this machine. It has what is published to it, and passes on what it has not. */
export class LocalRegistry {
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly url: string;

  private constructor(folder: string, process: ChildProcess, url: string) {
    this.#folder = folder;
    this.#process = process;
    this.url = url;
  }

  /** @returns `undefined` if its package cannot be installed */
  static async start(): Promise<LocalRegistry | undefined> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-registry-'));
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, ...REGISTRY_PACKAGES }));
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=silent'];
    if (!npm(folder, install)) {
      fs.rmSync(folder, { recursive: true, force: true });
      return undefined;
    }
    const { output: upstream } = await run('npm', ['config', 'get', 'registry'], folder);
    const config = path.join(folder, 'config.yaml');
    // JSON is YAML.
    const settings = {
      storage: path.join(folder, 'storage'),
      auth: { htpasswd: { file: path.join(folder, 'htpasswd') } },
      uplinks: { upstream: { url: upstream.trim().split('\n').at(-1), maxage: '60m' } },
      packages: { ioredisson: { access: '$all', publish: '$all' }, '**': { access: '$all', proxy: 'upstream' } },
      log: { type: 'stdout', format: 'json', level: 'error' },
    };
    fs.writeFileSync(config, JSON.stringify(settings));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const command = path.join(folder, 'node_modules', 'verdaccio', 'bin', 'verdaccio');
    const args = [command, '--config', config, '--listen', `127.0.0.1:${port}`];
    const registry = new LocalRegistry(folder, spawn(process.execPath, args, { cwd: folder, stdio: 'ignore' }), url);
    try {
      await registry.#answers();
      return registry;
    } catch (error) {
      registry.stop();
      throw error;
    }
  }

  async #answers(): Promise<void> {
    for (const end = Date.now() + START_MS; ; await sleep(100)) {
      const answer = await fetch(`${this.url}-/ping`).catch(() => undefined);
      if (answer?.ok === true) return;
      if (Date.now() > end || this.#process.exitCode !== null) throw new Error('the local registry does not start');
    }
  }

  /** Settings of npm that name this registry. npm wants to be logged in before it publishes, by whatever token. */
  get npmrc(): string {
    return `registry=${this.url}\n${this.url.slice('http:'.length)}:_authToken=rehearsal\n`;
  }

  /** Runs npm in a folder, with this registry and a cache of its own. */
  npm(folder: string, args: readonly string[]): Promise<Ended> {
    const npmrc = path.join(folder, '.npmrc');
    fs.writeFileSync(npmrc, this.npmrc);
    const cache = path.join(folder, '.cache');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--cache', cache];
    return run('npm', [...args, ...quiet, '--userconfig', npmrc], folder);
  }

  /** The file in which it keeps a tarball. */
  stored(name: string, version: string): string {
    return path.join(this.#folder, 'storage', name, `${name}-${version}.tgz`);
  }

  stop(): void {
    this.#process.kill();
    fs.rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const ESM = `import { Redisson } from 'ioredisson';
const redisson = Redisson.create(process.env.REDIS_URL);
console.log(await redisson.getLock('rehearsal').withLock(() => 'inside'));
await redisson.shutdown();
`;
const CJS = `const { Redisson } = require('ioredisson');
const redisson = Redisson.create(process.env.REDIS_URL);
redisson.getLock('rehearsal').withLock(() => console.log('inside')).finally(() => redisson.shutdown());
`;

/** A package that is to be released. */
export interface Candidate {
  readonly tarball: string;
  readonly name: string;
  readonly version: string;
}

/**
 * Publishes a tarball to a local registry, and tries it as {@link tryPublished} does.
 *
 * @param redisUrl - a server for the lock
 * @returns what went wrong, a line each; empty: nothing
 */
export async function rehearse(registry: LocalRegistry, candidate: Candidate, redisUrl: string): Promise<string[]> {
  const { tarball, version } = candidate;
  const publish = ['publish', tarball, '--access', 'public', '--tag', distTagOf(version)];
  const { code, output } = await inProject((folder) => registry.npm(folder, publish));
  return code === 0 ? tryPublished(registry, candidate, redisUrl) : [`publish (exit code ${code}): ${output.trim()}`];
}

/**
 * Installs a published package into an empty project, and takes a lock, from an ES module and from CommonJS. Then
 * exchanges a byte in the registry: npm must refuse that.
 *
 * @param redisUrl - a server for the lock
 * @returns what went wrong, a line each; empty: nothing
 */
export function tryPublished(
  registry: LocalRegistry,
  { tarball, name, version }: Candidate,
  redisUrl: string,
): Promise<string[]> {
  return inProject(async (folder) => {
    const problems: string[] = [];
    const must = (what: string, { code, output }: Ended, expected?: string): boolean => {
      const good = code === 0 && (expected === undefined || output === expected);
      if (!good) problems.push(`${what} (exit code ${code}): ${output.trim()}`);
      return good;
    };
    if (!must('install', await registry.npm(folder, ['install', `${name}@${version}`, 'ioredis']))) return problems;
    const { packages } = JSON.parse(fs.readFileSync(path.join(folder, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
    };
    const installed = packages[`node_modules/${name}`];
    const integrity = `sha512-${Buffer.from(sha512Of(fs.readFileSync(tarball)), 'hex').toString('base64')}`;
    if (installed?.version !== version || installed.integrity !== integrity)
      problems.push(`installed is ${installed?.version} ${installed?.integrity}, not ${version} ${integrity}`);
    for (const [file, text] of [
      ['user.mjs', ESM],
      ['user.cjs', CJS],
    ] as const) {
      fs.writeFileSync(path.join(folder, file), text);
      must(file, await run(process.execPath, [file], folder, { REDIS_URL: redisUrl }), 'inside\n');
    }
    tamper(registry.stored(name, version));
    fs.rmSync(path.join(folder, '.cache'), { recursive: true });
    const { code, output } = await registry.npm(folder, ['ci']);
    if (code === 0 || !output.includes('EINTEGRITY')) problems.push(`a tampered tarball was installed: ${output}`);
    return problems;
  });
}

/** Makes an empty project, and removes it afterwards. */
async function inProject<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-rehearsal-'));
  try {
    const manifest = { name: 'user', version: '1.0.0', private: true };
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
    return await use(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Exchanges a letter of a file in a tarball, which can still be unpacked. */
export function tamper(tarball: string): void {
  const bytes = gunzipSync(fs.readFileSync(tarball));
  const at = bytes.indexOf('a distributed lock');
  if (at < 0) throw new Error(`${tarball} has no description to tamper with`);
  bytes.write('A', at);
  fs.writeFileSync(tarball, gzipSync(bytes));
}

function run(file: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const options = { cwd, timeout: 120_000, env: { ...process.env, ...env }, shell: false };
  return new Promise((resolve) => {
    execFile(file, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: code === 0 ? stdout : stdout + stderr });
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
