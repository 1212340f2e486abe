import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';

/**
 * `npm pack` of the checkout into a new temporary folder, whose removal is the caller's. Build first.
 *
 * @param source - another folder to pack
 */
export function packTarball(source = projectRoot): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-pack-'));
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: source,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  const [file] = fs.readdirSync(folder);
  if (file === undefined) throw new Error('npm pack wrote nothing');
  return path.join(folder, file);
}
