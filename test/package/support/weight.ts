import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { gzipSync } from 'node:zlib';

/** What docs/bundlers.md promises. */
export const LIMITS = { gzip: 92_000, unpacked: 1_800_000, ratio: 1.75 };

/** The one that `require` is compared with. */
export const LIGHTEST = 'redis-semaphore';

/** One lock, as each package shows it. They are installed with the benchmarks. */
export const ONE_LOCK: Readonly<Record<string, string>> = {
  ioredisson: `import { Redisson } from 'ioredisson';
    const redisson = Redisson.create(process.env.REDIS_URL);
    await redisson.getLock('report').withLock(() => console.log('one at a time'));
    await redisson.shutdown();`,
  redlock: `import { Redis } from 'ioredis';
    import Redlock from 'redlock';
    const lock = await new Redlock([new Redis(process.env.REDIS_URL)]).lock('report', 30_000);
    await lock.unlock();`,
  [LIGHTEST]: `import { Redis } from 'ioredis';
    import { Mutex } from 'redis-semaphore';
    const mutex = new Mutex(new Redis(process.env.REDIS_URL), 'report');
    await mutex.acquire();
    await mutex.release();`,
  'redlock-universal': `import { Redis } from 'ioredis';
    import { createLock, IoredisAdapter } from 'redlock-universal';
    const adapter = new IoredisAdapter(new Redis(process.env.REDIS_URL));
    const lock = createLock({ adapter, key: 'report', ttl: 30_000 });
    await lock.release(await lock.acquire());`,
};

/** How large a bundle is, in bytes. */
export interface BundleSize {
  readonly minified: number;
  readonly gzip: number;
  /** The files in it, as esbuild names them. */
  readonly inputs: readonly string[];
}

/** The size of a program as a bundle: by esbuild, minified, ioredis and other clients of Redis outside. */
export async function bundleSize(program: string): Promise<BundleSize> {
  const { outputFiles, metafile } = await build({
    entryPoints: [program],
    absWorkingDir: path.dirname(program),
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    external: ['ioredis', 'redis', '@redis/*', '@valkey/*'],
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const { contents } = outputFiles[0]!;
  return { minified: contents.length, gzip: gzipSync(contents).length, inputs: inputs.map(([file]) => file) };
}

/**
 * The CPU time that `require` takes in a fresh process that has loaded ioredis, which all of them need: the median, in
 * ms. One process of each package follows the other, so that a busy machine slows them alike.
 *
 * @param folder - where the packages are installed
 */
export function requireCpu(folder: string, packages: readonly string[], rounds: number): number[] {
  const times = packages.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    packages.forEach((name, i) => times[i]!.push(requireOnce(folder, name)));
  }
  return times.map((all) => all.sort((a, b) => a - b)[rounds >> 1]!);
}

function requireOnce(folder: string, name: string): number {
  const program = `require('ioredis');
    const before = process.cpuUsage();
    require(${JSON.stringify(name)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);`;
  return Number(execFileSync(process.execPath, ['-e', program], { cwd: folder, encoding: 'utf8' }));
}

/** What npm installs for a package. */
export interface Installed {
  readonly version: string;
  /** The names of the packages that come with it; ioredis and what that brings do not count. */
  readonly dependencies: readonly string[];
  /** Of all of their files. */
  readonly bytes: number;
}

/** @param modules - the `node_modules` that it is in, with all that it needs */
export function installed(modules: string, name: string): Installed {
  const found = new Set<string>();
  const add = (one: string): void => {
    if (found.has(one)) return;
    found.add(one);
    Object.keys(manifest(modules, one).dependencies ?? {}).forEach(add);
  };
  add(name);
  const bytes = [...found].reduce((sum, one) => sum + bytesOf(path.join(modules, one)), 0);
  return { version: manifest(modules, name).version, dependencies: [...found].slice(1), bytes };
}

function manifest(modules: string, name: string): { version: string; dependencies?: Readonly<Record<string, string>> } {
  return JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')) as ReturnType<typeof manifest>;
}

function bytesOf(folder: string): number {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + fs.statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
