import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { FOLDER, translator } from '../../tools/transpileCache.cjs';

const CACHE = path.join(projectRoot, 'node_modules', '.cache');

/** The cache of tools/register.cjs. */
const javaScriptOf = translator(FOLDER);

let folder: string | undefined;

/**
 * The JavaScript of a TypeScript file of the project, and of all of `lib/`, for child processes: translated once, where
 * `ts-node` would do it again in each child. Types are not checked. Removed when the process ends.
 *
 * @param file - what the child runs; what it imports of `test/` must be types only
 * @returns the path of its JavaScript
 */
export function transpiled(file: string): string {
  if (folder === undefined) {
    fs.mkdirSync(CACHE, { recursive: true });
    // Inside the project, so that the packages are found from there.
    const made = (folder = fs.mkdtempSync(path.join(CACHE, 'transpiled-')));
    process.once('exit', () => fs.rmSync(made, { recursive: true, force: true }));
    for (const source of typeScriptUnder(path.join(projectRoot, 'lib'))) translate(source, made);
  }
  return translate(file, folder);
}

function translate(file: string, into: string): string {
  const target = path.join(into, path.relative(projectRoot, file)).replace(/\.ts$/, '.js');
  // A child may be reading it: one that finds it cut off to be written again would run nothing, and end with 0.
  if (fs.existsSync(target)) return target;
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, javaScriptOf(fs.readFileSync(file, 'utf8'), file));
  return target;
}

function typeScriptUnder(root: string): string[] {
  return fs
    .readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(root, file));
}
