import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

const benchFolder = path.resolve(__dirname, '..');

interface Manifest {
  readonly version?: string;
}

/**
 * Installs what bench/package-lock.json lists into bench/node_modules, unless it is there already. Returns whether it is
 * there now; without it the bench runs with this package, the references and the baselines.
 */
export function installPeers(say: (line: string) => void): boolean {
  if (isComplete()) return true;
  say('installing the other libraries into bench/node_modules (npm ci) ...');
  const npm = process.env['npm_execpath'];
  const options = { cwd: benchFolder, stdio: ['ignore', 'ignore', 'inherit'] as const };
  const args = ['ci', '--loglevel=error'];
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { ...options, stdio: [...options.stdio] })
    : spawnSync('npm', args, { ...options, stdio: [...options.stdio], shell: process.platform === 'win32' });
  if (result.status === 0 && isComplete()) return true;
  say('they could not be installed: the npm peers are left out, and the page has tables only');
  return false;
}

function isComplete(): boolean {
  const lock = JSON.parse(fs.readFileSync(path.join(benchFolder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Manifest>;
  };
  return Object.entries(lock.packages)
    .filter(([location]) => location !== '')
    .every(([location, { version }]) => installedVersion(location) === version);
}

function installedVersion(location: string): string | undefined {
  const manifest = path.join(benchFolder, location, 'package.json');
  if (!fs.existsSync(manifest)) return undefined;
  return (JSON.parse(fs.readFileSync(manifest, 'utf8')) as Manifest).version;
}
