import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** The checkout. */
export const projectRoot = path.resolve(__dirname, '..', '..');

/** Compiles lib/ into a fresh dist/ and makes the command executable. Throws when the compiler complains. */
export function build(): void {
  const dist = path.join(projectRoot, 'dist');
  fs.rmSync(dist, { recursive: true, force: true });
  const tsc = path.join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: projectRoot, stdio: 'inherit' });
  const cli = path.join(dist, 'cli', 'main.js');
  if (fs.existsSync(cli)) fs.chmodSync(cli, 0o755);
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
