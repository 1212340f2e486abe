import { buildSync } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';

let file: string | undefined;

/**
 * The file that a watchdog thread runs where the sources are run as they are: one bundle of the sources, made once per
 * process. A thread that compiles them file by file would take seconds to start.
 */
export function threadFile(): string {
  if (file !== undefined) return file;
  const outfile = path.join(projectRoot, 'node_modules', '.cache', `ioredisson-thread-${process.pid}.cjs`);
  buildSync({
    absWorkingDir: projectRoot,
    entryPoints: [path.join('lib', 'watchdogThread', 'index.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  process.once('exit', () => fs.rmSync(outfile, { force: true }));
  return (file = outfile);
}
