import * as fs from 'node:fs';
import * as path from 'node:path';

/**
 * Where the file of the thread is, seen from the file that this function is in; empty in the modules for bundlers,
 * which are not beside it. `tools/buildLibrary.ts` knows; in a checkout `tools/register.cjs` replaces this module.
 */
declare const WATCHDOG_THREAD_FILE: string;

/**
 * The file that the watchdog thread runs: a file of this package, which a bundler does not see.
 *
 * @throws Error if the program is a bundle and the package is not installed beside it
 */
export function workerFile(): string {
  if (WATCHDOG_THREAD_FILE !== '' && typeof __dirname === 'string') {
    const beside = path.resolve(__dirname, WATCHDOG_THREAD_FILE);
    if (isOurs(beside)) return beside;
  }
  // Asked for in a way that bundlers do not follow: webpack warns of an import, and takes package.json into the bundle.
  const { createRequire } = process.getBuiltinModule('node:module');
  for (const from of [process.argv[1], path.resolve('program.js')]) {
    if (from === undefined) continue;
    try {
      const manifest = createRequire(path.resolve(from)).resolve('ioredisson/package.json');
      return path.join(path.dirname(manifest), 'dist', 'watchdogThread', 'index.js');
    } catch {
      // Not installed there.
    }
  }
  throw new Error(
    'the file of the watchdog thread was not found: let the bundler leave ioredisson out (as an external package)',
  );
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
