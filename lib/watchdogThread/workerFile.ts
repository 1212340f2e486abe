import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';

/**
 * Where the file of the thread is, seen from the file that this function is in. `tools/buildLibrary.ts` knows; in a
 * checkout `tools/register.cjs` replaces this module.
 */
declare const WATCHDOG_THREAD_FILE: string;

/**
 * The file that the watchdog thread runs: a file of this package, which a bundler does not see.
 *
 * @throws Error if the program is a bundle and the package is not installed beside it
 */
export function workerFile(): string {
  const beside = typeof __dirname === 'string' ? path.resolve(__dirname, WATCHDOG_THREAD_FILE) : undefined;
  if (beside !== undefined && fs.existsSync(beside)) return beside;
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
