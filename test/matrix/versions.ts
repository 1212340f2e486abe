import * as fs from 'node:fs';
import * as path from 'node:path';
import { runCommand } from './runCommand';
import { productIn, versionIn } from './axes';
import { installed, ioredisFolder } from './ioredisFolder';

/** Where what the matrix installs is kept. git ignores it. */
export const VERSIONS = path.join(__dirname, 'versions');

/** So long a download may take. */
export const DOWNLOAD_MS = 90_000;

/** Something that can be had here, or the reason why not. */
export type Found<T> = ({ readonly version: string } & T) | { readonly version?: never; readonly reason: string };

const FLAGS = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  '--save-exact',
  '--loglevel=error',
  // One that is on the disk already needs no network.
  '--prefer-offline',
];

/** Installs ioredis of the version in the id, unless it is there already. */
export async function findIoredis(id: string): Promise<Found<{ readonly path: string }>> {
  const version = versionIn(id);
  const name = productIn(id);
  const folder = ioredisFolder(version, name);
  return folder === undefined ? { reason: `${name} ${version} could not be installed` } : { version, path: folder };
}

/** As npm calls it, and where the program is in it. */
const RUNTIMES: Readonly<Record<string, { readonly names: () => readonly string[]; readonly binary: string }>> = {
  node: { names: () => [`node-${process.platform}-${process.arch}`], binary: 'bin/node' },
  bun: {
    // The second is for processors without AVX2, or for Alpine; npm refuses what is of another platform.
    names: () => {
      const name = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;
      return [name, `${name}-baseline`];
    },
    binary: 'bin/bun',
  },
  deno: {
    names: () => [`@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`],
    binary: 'deno',
  },
};

/** Installs the runtime of the version in the id, unless it is the one that runs us or there already. */
export async function findRuntime(id: string): Promise<Found<{ readonly path: string }>> {
  const version = versionIn(id);
  if (id === `node-${process.version.slice(1)}`) return { version, path: process.execPath };
  const { names, binary } = RUNTIMES[productIn(id)]!;
  let reason = '';
  for (const name of names()) {
    const folder = await fromNpm(name, version);
    if (folder === undefined) {
      reason ||= `${id} (npm package ${name}) could not be installed`;
      continue;
    }
    const file = path.join(folder, binary);
    const { succeeded } = await runCommand(file, ['--version'], { limitMs: 20_000 });
    if (succeeded) return { version, path: file };
    reason = `${id} does not start on this machine`;
  }
  return { reason };
}

async function fromNpm(name: string, version: string): Promise<string | undefined> {
  const place = path.join(VERSIONS, `${name}-${version}`);
  const folder = path.join(place, 'node_modules', name);
  if (installed(folder) === version) return folder;
  fs.rmSync(place, { recursive: true, force: true });
  fs.mkdirSync(place, { recursive: true });
  fs.writeFileSync(path.join(place, 'package.json'), `${JSON.stringify({ private: true })}\n`);
  const cli = process.env['npm_execpath'];
  const [file, first] = cli?.endsWith('.js') === true ? [process.execPath, [cli]] : ['npm', []];
  await runCommand(file, [...first, 'install', `${name}@${version}`, ...FLAGS], { cwd: place, limitMs: DOWNLOAD_MS });
  return installed(folder) === version ? folder : undefined;
}
