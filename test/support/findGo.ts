import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The Go of this machine: that of the `PATH`, or where its installer puts it. Resolves to `undefined` without one. */
export async function findGo(): Promise<string | undefined> {
  for (const file of ['go', '/usr/local/go/bin/go']) {
    try {
      await run(file, ['version']);
      return file;
    } catch {
      // Not there.
    }
  }
  return undefined;
}
