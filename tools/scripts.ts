import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import type { Script } from '../lib/scripts/Script';

/** A script of the library, as `defineScript` returns it. */
export type AnyScript = Script<string, string, unknown>;

const lib = path.resolve(__dirname, '..', 'lib');
const load = createRequire(__filename);

/**
 * A call of `defineScript`, or of a function `define...Script` that calls it, with the name that it gives the script.
 */
const DEFINITION = /\bdefine\w*Script\(\s*(?:\{\s*name: )?'([^']+)'/g;
/**
 * Any such call; the one in such a function takes the name that it was given. Those of `inspection/forceUnlock.ts` are
 * made of the scripts of each kind, and `forceUnlock.test.ts` runs them for each.
 */
const CALL = /(?<!function )\bdefine\w*Script\((?!\{\s*(?:name,|\.{3}\{ name: `))/g;

/** A source file of the library that defines scripts. */
export interface ScriptFile {
  /** Its path from the root of the repository. */
  readonly file: string;
  /** The names of the scripts that its source text defines, in order. */
  readonly defined: readonly string[];
  /**
   * How often its source text calls that. Where they are more than {@link defined}, a call is not written as the others
   * are.
   */
  readonly calls: number;
  /** The scripts that it exports, in order. */
  readonly scripts: readonly AnyScript[];
}

/** All files of the library that define scripts. */
export function scriptFiles(): ScriptFile[] {
  return fs
    .readdirSync(lib, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .flatMap((file) => {
      const source = fs.readFileSync(path.join(lib, file), 'utf8');
      const calls = [...source.matchAll(CALL)].length;
      if (calls === 0) return [];
      const defined = [...source.matchAll(DEFINITION)].map(([, name]) => name!);
      const exported = Object.values(load(path.join(lib, file)) as Record<string, unknown>);
      // A script is exported by itself, or as a part of the descriptor that is beside it.
      const parts = exported.flatMap((one) => [one, ...Object.values(one as Readonly<Record<string, unknown>>)]);
      return [
        {
          file: path.posix.join('lib', file.split(path.sep).join('/')),
          defined,
          calls,
          scripts: [...new Set(parts.filter(isScript))].filter(({ name }) => defined.includes(name)),
        },
      ];
    });
}

/** Every script of the library, assembled. */
export function allScripts(): AnyScript[] {
  return scriptFiles().flatMap(({ scripts }) => scripts);
}

function isScript(value: unknown): value is AnyScript {
  return typeof value === 'object' && value !== null && 'lua' in value && 'sha' in value;
}
