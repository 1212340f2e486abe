import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** What the memory server package builds when nothing else is left: the last release of the 7.2 line. */
const BUILT_VERSION = '7.2.5';

/** Servers that speak the protocol, best first. */
const SERVER_NAMES = ['redis-server', 'valkey-server'];

/** Where package managers put servers that a short PATH (cron, a desktop's launcher) does not list. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/local/bin', '/snap/bin'];

const HOW_TO_INSTALL =
  'No redis-server found, and none could be installed: install Redis 6.2 or later ' +
  '(apt-get install redis-server, dnf install redis, apk add redis, brew install redis) or set REDIS_URL.';

interface PackageManager {
  readonly command: string;
  /** Whether it installs for a plain user too. */
  readonly asUser?: boolean;
  readonly steps: readonly (readonly string[])[];
}

const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    command: 'apt-get',
    steps: [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', 'redis-server'],
    ],
  },
  { command: 'apk', steps: [['add', '--no-cache', 'redis']] },
  { command: 'dnf', steps: [['install', '-y', '-q', 'redis']] },
  { command: 'dnf', steps: [['install', '-y', '-q', 'valkey']] },
  { command: 'brew', asUser: true, steps: [['install', '--quiet', 'redis']] },
];

let found: Promise<string> | undefined;

/**
 * The path of a Redis server: what `REDIS_SERVER` names, else that of the PATH, else of the system's package manager
 * where that installs one without asking, else the one `redis-memory-server` builds. Rejects with one line that says
 * what to install.
 * `report` is told, in a line each, what takes long.
 */
export function findRedisServer(report: (line: string) => void = reportOnStderr): Promise<string> {
  found ??= search(report).catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

/** As {@link findRedisServer}, without installing or building anything: `undefined` where there is none. */
export function installedRedisServer(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), ...USUAL_FOLDERS].filter((f) => f !== '');
  return SERVER_NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
}

/** The server that `REDIS_SERVER` names; a wrong one is an error, not a reason to take another. */
function namedServer(): string | undefined {
  const named = process.env['REDIS_SERVER'];
  if (named === undefined || named === '') return undefined;
  if (!isExecutable(named)) throw new Error(`REDIS_SERVER names '${named}', which is no program.`);
  return path.resolve(named);
}

async function search(report: (line: string) => void): Promise<string> {
  return (
    namedServer() ??
    installedRedisServer() ??
    installByPackageManager(report) ??
    (await buildFromSource(report)) ??
    giveUp()
  );
}

function giveUp(): never {
  throw new Error(HOW_TO_INSTALL);
}

function installByPackageManager(report: (line: string) => void): string | undefined {
  for (const manager of PACKAGE_MANAGERS) {
    const prefix = manager.asUser ? [] : rootPrefix();
    if (prefix === undefined || !onPath(manager.command)) continue;
    report(`No redis-server found: installing one with ${manager.command} ...`);
    withoutStartingServices(prefix.length === 0, () => {
      for (const step of manager.steps) runQuietly([...prefix, manager.command, ...step]);
    });
    const server = installedRedisServer();
    if (server !== undefined) return server;
  }
  return undefined;
}

/** What to put before a command to run it as root without being asked anything; `undefined` where that cannot be. */
function rootPrefix(): string[] | undefined {
  if (process.getuid?.() === 0) return [];
  return onPath('sudo') && runQuietly(['sudo', '-n', 'true']) ? ['sudo', '-n'] : undefined;
}

/**
 * Debian starts a service as soon as its package is installed, which would leave a server on port 6379.
 * `policy-rc.d` is its documented way to say no; one that exists already is left alone.
 */
function withoutStartingServices(isRoot: boolean, action: () => void): void {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = isRoot && fs.existsSync(path.dirname(policy)) && !fs.existsSync(policy);
  if (ours) fs.writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    action();
  } finally {
    if (ours) fs.rmSync(policy, { force: true });
  }
}

async function buildFromSource(report: (line: string) => void): Promise<string | undefined> {
  if (!onPath('make')) return undefined;
  report(`No redis-server found: redis-memory-server builds Redis ${BUILT_VERSION}, once; this takes some minutes ...`);
  try {
    // Loaded only here: nobody who has a server pays for it, and its absence is no error.
    const { RedisBinary } = await import('redis-memory-server');
    const folder = path.resolve(__dirname, '..', 'node_modules', '.cache', 'redis-binaries');
    const binary = await RedisBinary.getPath({ version: BUILT_VERSION, downloadDir: folder });
    return isExecutable(binary) ? binary : undefined;
  } catch (error) {
    report(`redis-memory-server: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function runQuietly(command: readonly string[]): boolean {
  const [file = '', ...args] = command;
  const result = spawnSync(file, args, {
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: 5 * 60_000,
    env: {
      ...process.env,
      DEBIAN_FRONTEND: 'noninteractive',
      HOMEBREW_NO_AUTO_UPDATE: '1',
      HOMEBREW_NO_INSTALL_UPGRADE: '1',
    },
  });
  return result.status === 0;
}

function onPath(command: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => isExecutable(path.join(folder, command)));
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function reportOnStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
