import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';
import { entryPoints } from './entryPoints';

/** Checks the types of lib/, and writes the declarations that users can reach from an entry point. */
export function writeDeclarations(folder: string): void {
  const tsc = path.join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', folder];
  execFileSync(process.execPath, args, { cwd: projectRoot, stdio: 'inherit' });
  const reachable = new Set<string>();
  for (const entry of entryPoints()) addReachable(path.join(folder, entry.folder, 'index.d.ts'), reachable);
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile() && !reachable.has(file)) fs.rmSync(file);
  }
  removeEmptyFolders(folder);
}

function addReachable(file: string, reachable: Set<string>): void {
  if (reachable.has(file)) return;
  reachable.add(file);
  const text = fs.readFileSync(file, 'utf8');
  for (const [, specifier] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]*)['"]/g)) {
    const target = path.join(path.dirname(file), specifier!);
    const found = [`${target}.d.ts`, path.join(target, 'index.d.ts')].find((one) => fs.existsSync(one));
    if (found === undefined) throw new Error(`${file} imports ${specifier}, which has no declaration`);
    addReachable(found, reachable);
  }
}

function removeEmptyFolders(folder: string): void {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmptyFolders(path.join(folder, entry.name));
  }
  if (fs.readdirSync(folder).length === 0) fs.rmdirSync(folder);
}
