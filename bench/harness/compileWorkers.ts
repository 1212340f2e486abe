import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';

const benchFolder = path.resolve(__dirname, '..');
/** Where the compiled bench is. */
export const compiledFolder = path.join(benchFolder, 'dist');
const skipped = new Set(['node_modules', 'dist', 'results']);

/** The compiled program of a worker process. */
export const workerEntry = path.join(compiledFolder, 'harness', 'workerMain.js');

/** Copies a built package to a folder of bench/dist, where its contestant loads it from. */
export function copyBuiltPackage(folder: string, to: 'package' | 'beside'): void {
  fs.cpSync(folder, path.join(compiledFolder, to), { recursive: true });
}

/**
 * Translates every file of the bench to JavaScript under bench/dist, without type checks (`npm run check` does those),
 * so that a worker starts quickly and no compiler runs inside it.
 */
export function compileWorkers(): void {
  fs.rmSync(compiledFolder, { recursive: true, force: true });
  for (const source of sourcesUnder(benchFolder)) {
    const target = path.join(compiledFolder, path.relative(benchFolder, source)).replace(/\.ts$/, '.js');
    const { outputText } = ts.transpileModule(fs.readFileSync(source, 'utf8'), {
      fileName: source,
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS, esModuleInterop: true },
    });
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, outputText);
  }
}

function sourcesUnder(folder: string): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return sourcesUnder(file);
    return file.endsWith('.ts') ? [file] : [];
  });
}
