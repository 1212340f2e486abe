import * as fs from 'node:fs';
import * as path from 'node:path';
import { build } from 'esbuild';

const root = path.resolve(__dirname, '..', '..');

/** A change of one place in one file of lib. */
export interface Edit {
  /** From `lib/`. */
  readonly file: string;
  /** What is there now, once. */
  readonly search: string;
  readonly replace: string;
}

/** A way to break lib. */
export interface Mutation {
  readonly name: string;
  readonly edits: readonly Edit[];
}

/**
 * Makes one file of a program and lib, which starts in a fraction of the time.
 *
 * @param mutation - what to change in lib
 * @param program - its first file; default: that of the simulation
 * @returns the file
 */
export async function bundle(mutation?: Mutation, program = path.join(__dirname, 'main.ts')): Promise<string> {
  const folder = path.join(root, 'node_modules', '.cache', path.basename(path.dirname(program)));
  const outfile = path.join(
    folder,
    `${mutation === undefined ? 'main' : mutation.name.replaceAll(/\W+/g, '-')}-${process.pid}.cjs`,
  );
  const edits = mutation?.edits ?? [];
  const applied = new Set<Edit>();
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    sourcesContent: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'mutation',
        setup(plugins) {
          if (edits.length === 0) return;
          plugins.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
            const here = edits.filter((edit) => file === path.join(root, 'lib', edit.file));
            if (here.length === 0) return undefined;
            for (const edit of here) applied.add(edit);
            return { contents: applyEdits(fs.readFileSync(file, 'utf8'), here), loader: 'ts' };
          });
        },
      },
    ],
  });
  for (const edit of edits) if (!applied.has(edit)) throw new Error(`nothing imports lib/${edit.file}`);
  return outfile;
}

/**
 * Changes the text of a file.
 * @throws Error when the text does not have what an edit looks for, or has it more than once
 */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { file, search, replace }) => {
    const parts = before.split(search);
    if (parts.length !== 2) throw new Error(`lib/${file} has ${parts.length - 1} times: ${search}`);
    return parts.join(replace);
  }, text);
}
