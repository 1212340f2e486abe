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
  say(`installing ${what} into ${path.relative(process.cwd(), folder)}/node_modules (npm ci) ...`);
  // npm ci refuses a lock file without the builds for other platforms, which some registries do not list.
  const installed =
    npm(folder, ['ci', '--loglevel=silent']) || npm(folder, ['install', '--no-save', '--loglevel=error']);
  return installed && isComplete(folder);
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
