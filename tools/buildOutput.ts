import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** The checkout. */
export const projectRoot = path.resolve(__dirname, '..');

/**
 * Compiles lib/ into dist/ and makes the command executable. Throws when the compiler complains, and leaves dist/ as it
 * was then: whoever loads it meanwhile sees the old output or the new one, never half of it.
 */
export function build(): void {
  const dist = path.join(projectRoot, 'dist');
  const fresh = path.join(projectRoot, `dist-${process.pid}`);
  const tsc = path.join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh];
    execFileSync(process.execPath, args, { cwd: projectRoot, stdio: 'inherit' });
    fs.chmodSync(path.join(fresh, 'cli', 'main.js'), 0o755);
    fs.rmSync(dist, { recursive: true, force: true });
    fs.renameSync(fresh, dist);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
}

/** Builds only when dist/ is missing or older than a source file (or holds output of a source that is gone). */
export function ensureBuilt(): void {
  if (!isUpToDate()) build();
}

function isUpToDate(): boolean {
  const sources = filesUnder(path.join(projectRoot, 'lib'), '.ts');
  const outputs = filesUnder(path.join(projectRoot, 'dist'), '.js');
  if (sources.length === 0 || sources.length !== outputs.length) return false;
  const inputs = [...sources, ...['package.json', 'tsconfig.json', 'tsconfig.build.json'].map(inRoot)];
  return Math.max(...inputs.map(modifiedAt)) <= Math.min(...outputs.map(modifiedAt));
}

function inRoot(file: string): string {
  return path.join(projectRoot, file);
}

function modifiedAt(file: string): number {
  return fs.statSync(file).mtimeMs;
}

function filesUnder(folder: string, extension: string): string[] {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(extension))
    .map((file) => path.join(folder, file));
}
