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
  return (file ??= bundleSources(path.join(projectRoot, 'lib', 'watchdogThread', 'index.ts')));
}

/** A program as one file, with the sources it uses, that Node runs as it is. It is deleted when this process ends. */
export function bundleProgram(entry: string): string {
  return bundleSources(entry, { WATCHDOG_THREAD_FILE: JSON.stringify(threadFile()) });
}

function bundleSources(entry: string, define: Readonly<Record<string, string>> = {}): string {
  const name = `ioredisson-${path.basename(entry, '.ts')}-${process.pid}.cjs`;
  const outfile = path.join(projectRoot, 'node_modules', '.cache', name);
  buildSync({
    absWorkingDir: projectRoot,
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
    define,
  });
  process.once('exit', () => fs.rmSync(outfile, { force: true }));
  return outfile;
}
