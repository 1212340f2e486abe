import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { skip } from '../../support';

/** Skips a test, or a suite in its `before`, where script(1) of util-linux is missing, and says so. */
export function needTerminal(context: Mocha.Context): void {
  if (!hasScript()) skip(context, 'no script(1) of util-linux to make a terminal with');
}

/** Skips a test where there is no `/dev/full`, and says so. */
export function needFullDisk(context: Mocha.Context): void {
  if (!fs.existsSync('/dev/full')) skip(context, 'no /dev/full to write to');
}

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}
