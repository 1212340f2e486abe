import * as fs from 'node:fs';
import * as path from 'node:path';

/** Whether nobody has asked this in the folder of this run, by any process. */
export function isFirstTime(what: string): boolean {
  try {
    fs.writeFileSync(path.join(process.env['QUEUE_FIXTURES']!, what), '', { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}
