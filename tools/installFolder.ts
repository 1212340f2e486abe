import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

interface Manifest {
  readonly version?: string;
  readonly optional?: boolean;
}

/**
 * Installs what the package-lock.json of a folder lists into its node_modules, unless it is there already. What is
 * optional may be missing.
 *
 * @param what - for the line that says so, e.g. "the other libraries"
 * @returns whether it is there now
 */
export function installFolder(folder: string, what: string, say: (line: string) => void): boolean {
  if (isComplete(folder)) return true;
  return alone(folder, () => isComplete(folder) || install(folder, what, say));
}

function install(folder: string, what: string, say: (line: string) => void): boolean {
  say(`installing ${what} into ${path.relative(process.cwd(), folder)}/node_modules (npm ci) ...`);
  // npm ci refuses a lock file without the builds for other platforms, which some registries do not list.
  const installed =
    npm(folder, ['ci', '--loglevel=silent']) || npm(folder, ['install', '--no-save', '--loglevel=error']);
  return installed && isComplete(folder);
}

/** After this time (ms) whoever installs is taken for dead. */
const GIVEN_UP_MS = 300_000;
const LOOK_EVERY_MS = 200;

/** Runs it while no other process does so for that folder: test files that share it may run side by side. */
function alone<T>(folder: string, run: () => T): T {
  const mark = path.join(folder, '.installing');
  for (;;) {
    try {
      fs.mkdirSync(mark);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const ageMs = Date.now() - (fs.statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (ageMs > GIVEN_UP_MS) fs.rmSync(mark, { recursive: true, force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
  try {
    return run();
  } finally {
    fs.rmSync(mark, { recursive: true, force: true });
  }
}

/** Runs npm in a folder. @returns whether it succeeded */
export function npm(folder: string, args: readonly string[]): boolean {
  const cli = process.env['npm_execpath'];
  const stdio: ('ignore' | 'inherit')[] = ['ignore', 'ignore', 'inherit'];
  const result = cli?.endsWith('.js')
    ? spawnSync(process.execPath, [cli, ...args], { cwd: folder, stdio })
    : spawnSync('npm', [...args], { cwd: folder, stdio, shell: process.platform === 'win32' });
  return result.status === 0;
}

function isComplete(folder: string): boolean {
  const wanted = packagesOf(path.join(folder, 'package-lock.json')) ?? {};
  // What npm has written there: a package may call itself by another version than the registry does.
  const present = packagesOf(path.join(folder, 'node_modules', '.package-lock.json')) ?? {};
  return Object.entries(wanted)
    .filter(([location, { optional }]) => location !== '' && optional !== true)
    .every(
      ([location, { version }]) =>
        present[location]?.version === version && fs.existsSync(path.join(folder, location, 'package.json')),
    );
}

function packagesOf(file: string): Readonly<Record<string, Manifest>> | undefined {
  if (!fs.existsSync(file)) return undefined;
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { packages: Record<string, Manifest> }).packages;
}
