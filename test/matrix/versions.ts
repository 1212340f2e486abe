import * as fs from 'node:fs';
import * as path from 'node:path';
import { runCommand } from './runCommand';
import { versionIn } from './axes';
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
  const folder = ioredisFolder(version);
  return folder === undefined ? { reason: `ioredis ${version} could not be installed` } : { version, path: folder };
}

/** Installs Node of the version in the id, unless it is the one that runs us or there already. */
export async function findNode(id: string): Promise<Found<{ readonly path: string }>> {
  const version = versionIn(id);
  if (process.version === `v${version}`) return { version, path: process.execPath };
  const name = `node-${process.platform}-${process.arch}`;
  const folder = await fromNpm(name, version);
  if (folder === undefined) return { reason: `Node ${version} (npm package ${name}) could not be installed` };
  const binary = path.join(folder, 'bin', 'node');
  const { succeeded } = await runCommand(binary, ['--version'], { limitMs: 20_000 });
  return succeeded ? { version, path: binary } : { reason: `Node ${version} does not start on this machine` };
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
