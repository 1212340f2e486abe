import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { bundle } from './bundle';

/** `npm run test:simulation`: see README.md beside this. */
async function main(): Promise<void> {
  const exploring = process.argv.includes('--explore');
  const file = await (exploring ? bundle(undefined, path.join(__dirname, 'explore', 'main.ts')) : bundle());
  try {
    // Many short-lived objects: with a larger young generation it is an eighth faster. Source maps cost a tenth, since
    // ioredis makes many errors; a trace has them.
    // An exploration reports warnings itself.
    const options = [
      ...(exploring ? ['--no-warnings'] : []),
      '--max-semi-space-size=64',
      // Drains run out in many worlds.
      '--disable-warning=IOREDISSON_DRAIN',
      ...(process.argv.includes('--trace') ? ['--enable-source-maps'] : []),
    ];
    const { status } = spawnSync(process.execPath, [...options, file, ...process.argv.slice(2)], { stdio: 'inherit' });
    process.exitCode = status ?? 1;
  } finally {
    fs.rmSync(file, { force: true });
  }
}

void main();
