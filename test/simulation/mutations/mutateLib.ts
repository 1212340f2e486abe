import * as fs from 'node:fs';
import * as path from 'node:path';
import { transformSync } from 'esbuild';
import { applyEdits, type Edit } from '../bundle';

/*
 * Loaded by mocha before anything of lib: what it loads then is lib with the edits of `LIB_EDITS`. Nothing is written.
 */

const root = path.resolve(__dirname, '..', '..', '..');
const edits = JSON.parse(process.env['LIB_EDITS'] ?? '[]') as readonly Edit[];
const left = new Map<string, Edit[]>();
for (const edit of edits) {
  const file = path.join(root, 'lib', edit.file);
  left.set(file, [...(left.get(file) ?? []), edit]);
}

type Load = (module: { _compile(code: string, file: string): void }, file: string) => void;
// Deprecated, and the only way to put code in the place of a file that `require` finds; ts-node uses it as well.
const extensions = require.extensions as unknown as Record<string, Load>;
const load = extensions['.ts']!;
extensions['.ts'] = (module, file) => {
  const here = left.get(file);
  if (here === undefined) return load(module, file);
  left.delete(file);
  const text = applyEdits(fs.readFileSync(file, 'utf8'), here);
  const { code } = transformSync(text, { loader: 'ts', format: 'cjs', target: 'node20', sourcemap: 'inline' });
  module._compile(code, file);
};

/** A test that never loads what is broken would prove nothing. */
process.on('exit', () => {
  if (left.size === 0) return;
  process.stderr.write(`not loaded: ${[...left.keys()].join(', ')}\n`);
  process.exitCode = 1;
});
