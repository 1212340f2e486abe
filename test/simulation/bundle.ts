import * as fs from 'node:fs';
import * as path from 'node:path';
import { build } from 'esbuild';

const root = path.resolve(__dirname, '..', '..');

/** A change of one place in one file of lib. */
export interface Mutation {
  readonly name: string;
  /** From `lib/`. */
  readonly file: string;
  /** What is there now, once. */
  readonly search: string;
  readonly replace: string;
}

/**
 * Makes one file of the simulation and lib, which starts in a fraction of the time.
 *
 * @param mutation - what to change in lib
 * @returns the file
 */
export async function bundle(mutation?: Mutation): Promise<string> {
  const folder = path.join(root, 'node_modules', '.cache', 'simulation');
  const outfile = path.join(
    folder,
    `${mutation === undefined ? 'main' : mutation.name.replaceAll(/\W+/g, '-')}-${process.pid}.cjs`,
  );
  let applied = mutation === undefined;
  await build({
    entryPoints: [path.join(__dirname, 'main.ts')],
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
          if (mutation === undefined) return;
          const target = path.join(root, 'lib', mutation.file);
          plugins.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
            if (file !== target) return undefined;
            applied = true;
            return { contents: mutate(fs.readFileSync(file, 'utf8'), mutation), loader: 'ts' };
          });
        },
      },
    ],
  });
  if (!applied) throw new Error(`${mutation?.name}: there is no lib/${mutation?.file}`);
  return outfile;
}

function mutate(text: string, { name, file, search, replace }: Mutation): string {
  const parts = text.split(search);
  if (parts.length !== 2) throw new Error(`${name}: lib/${file} has ${parts.length - 1} times: ${search}`);
  return parts.join(replace);
}
