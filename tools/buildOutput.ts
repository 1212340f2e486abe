import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** The checkout. */
export const projectRoot = path.resolve(__dirname, '..');

const dist = path.join(projectRoot, 'dist');
/** What dist/ was built from, beside it and not in it: it is nothing for users. */
const recordFile = path.join(projectRoot, 'node_modules', '.cache', 'ioredisson-build.json');

/** Builds dist/ in a process of its own (`buildCommand.ts`). Throws when that fails; it has said why. */
export function build(): void {
  const args = ['--require', inRoot('tools/register.cjs'), inRoot('tools/buildCommand.ts')];
  execFileSync(process.execPath, args, { cwd: projectRoot, stdio: 'inherit' });
}

/** Builds only when dist/ is missing, or was built from other sources than those that are there now. */
export function ensureBuilt(): void {
  if (!isUpToDate()) build();
}

/**
 * Notes what the dist/ that has just been written was built from. @param inputs - as {@link buildInputs} told before
 */
export function recordBuild(inputs: string): void {
  fs.mkdirSync(path.dirname(recordFile), { recursive: true });
  fs.writeFileSync(recordFile, `${stampOf(dist)}\n${inputs}`);
}

/** Every file that dist/ depends on, with its time. */
export function buildInputs(): string {
  const tools = filesUnder('tools', '.ts').filter((file) => /^(build|lua)/.test(path.basename(file)));
  const manifests = ['package.json', 'tsconfig.json', 'tsconfig.build.json'];
  return [
    ...filesUnder('lib', ''),
    ...filesUnder('tools/dashboard/page', ''),
    ...filesUnder('tools/help', ''),
    ...tools,
    ...manifests,
  ]
    .map((file) => `${file} ${stampOf(inRoot(file))}`)
    .join('\n');
}

function isUpToDate(): boolean {
  if (!fs.existsSync(dist) || !fs.existsSync(recordFile)) return false;
  return fs.readFileSync(recordFile, 'utf8') === `${stampOf(dist)}\n${buildInputs()}`;
}

function inRoot(file: string): string {
  return path.join(projectRoot, file);
}

function stampOf(file: string): number {
  return fs.statSync(file).mtimeMs;
}

function filesUnder(folder: string, extension: string): string[] {
  return fs
    .readdirSync(inRoot(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => path.relative(projectRoot, path.join(entry.parentPath, entry.name)))
    .sort();
}
