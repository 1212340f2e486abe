import * as fs from 'node:fs';
import * as path from 'node:path';
import { npm } from '../../tools/installFolder';

/** The environment variable that names the ioredis to use instead of the checkout's (see tools/register.cjs). */
export const IOREDIS_FOLDER = 'IOREDISSON_TEST_IOREDIS';

/**
 * Installs a version of ioredis into test/matrix/versions (which git ignores), unless it is there already.
 *
 * @param version - exact, e.g. `5.6.0`
 * @param name - of the package that is used as ioredis
 * @returns its folder; `undefined` when it could not be installed
 */
export function ioredisFolder(version: string, name = 'ioredis'): string | undefined {
  const place = path.join(__dirname, 'versions', `${name}-${version}`);
  const folder = path.join(place, 'node_modules', name);
  if (installed(folder) === version) return folder;
  fs.rmSync(place, { recursive: true, force: true });
  fs.mkdirSync(place, { recursive: true });
  fs.writeFileSync(path.join(place, 'package.json'), `${JSON.stringify({ private: true })}\n`);
  const flags = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--save-exact',
    '--loglevel=error',
  ];
  npm(place, ['install', `${name}@${version}`, ...flags]);
  return installed(folder) === version ? folder : undefined;
}

/** The version of the package in a folder; `undefined` where there is none. */
export function installed(folder: string): string | undefined {
  const manifest = path.join(folder, 'package.json');
  if (!fs.existsSync(manifest)) return undefined;
  // Node's builds write it with a v.
  return (JSON.parse(fs.readFileSync(manifest, 'utf8')) as { version?: string }).version?.replace(/^v/, '');
}
