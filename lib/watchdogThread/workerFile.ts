import * as fs from 'node:fs';
import * as path from 'node:path';

/**
 * Where the file of the thread is, seen from the file that this function is in. `tools/buildLibrary.ts` knows; in a
 * checkout `tools/register.cjs` replaces this module.
 */
declare const WATCHDOG_THREAD_FILE: string;

/**
 * The file that the watchdog thread runs: a file of this package, which a bundler does not see.
 *
 * @throws Error if it is not there, as in a bundle
 */
export function workerFile(): string {
  const file = path.resolve(__dirname, WATCHDOG_THREAD_FILE);
  if (isOurs(file)) return file;
  throw new Error('its file was not found: let the bundler leave ioredisson out (as an external package)');
}

/**
 * Whether a file is one of this package. What is there beside a bundle is the user's, and must not run in the thread.
 */
function isOurs(file: string): boolean {
  try {
    const manifest = fs.readFileSync(path.resolve(file, '..', '..', '..', 'package.json'), 'utf8');
    return fs.statSync(file).isFile() && (JSON.parse(manifest) as { name?: unknown }).name === 'ioredisson';
  } catch {
    return false;
  }
}
