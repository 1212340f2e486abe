import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { bundle } from './bundle';

/** `npm run test:simulation`: see README.md beside this. */
async function main(): Promise<void> {
  const file = await bundle();
  try {
    const { status } = spawnSync(process.execPath, ['--enable-source-maps', file, ...process.argv.slice(2)], {
      stdio: 'inherit',
    });
    process.exitCode = status ?? 1;
  } finally {
    fs.rmSync(file, { force: true });
  }
}

void main();
