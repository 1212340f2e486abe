/** A node of the tree that luaparse makes. */
export interface LuaNode {
  readonly type: string;
  readonly range: readonly [from: number, to: number];
  readonly [field: string]: unknown;
}

/** A variable where it is named. */
export interface LuaIdentifier extends LuaNode {
  readonly name: string;
  readonly isLocal: boolean;
}

/** The tree of a whole script. */
export interface LuaChunk extends LuaNode {
  readonly body: readonly LuaNode[];
  /** Global variables that are read or assigned. */
  readonly globals: readonly LuaIdentifier[];
}

interface LuaParser {
  parse(text: string, options: Readonly<Record<string, unknown>>): LuaChunk;
}

// It has no types.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const luaparse = require('luaparse') as LuaParser;

/** The tree of a script in the Lua of Redis. @throws a SyntaxError that names the line */
export function parseLua(text: string): LuaChunk {
  return luaparse.parse(text, { luaVersion: '5.1', scope: true, ranges: true, comments: false });
}
