import { type LuaChunk, type LuaIdentifier, type LuaNode, parseLua } from '../../../tools/luaParser';

/** All nodes of a tree, from the top. */
export function* nodesOf(node: LuaNode): Generator<LuaNode> {
  yield node;
  for (const field of Object.values(node)) {
    for (const child of Array.isArray(field) ? (field as unknown[]) : [field]) if (isNode(child)) yield* nodesOf(child);
  }
}

/** The names of the global variables that a tree uses, each once. */
export function globalsOf(chunk: LuaChunk): string[] {
  return [...new Set(chunk.globals.map(({ name }) => name))];
}

/** What a script assigns outside its local variables: `x = 1`, `function x()`, `math.x = 1`, `KEYS[1] = ''`. */
export function globalAssignments(chunk: LuaChunk): string[] {
  const targets = [...nodesOf(chunk)].flatMap((node): unknown[] => {
    if (node.type === 'AssignmentStatement') return node['variables'] as unknown[];
    return node.type === 'FunctionDeclaration' && node['isLocal'] === false ? [node['identifier']] : [];
  });
  const bases = targets.map(baseOf).filter((base) => base !== undefined);
  return bases.filter(({ isLocal }) => !isLocal).map(({ name }) => name);
}

/** The numbers by which a script reads KEYS or ARGV, in order; what a loop reads is not among them. */
export function fixedIndexes(chunk: LuaChunk, table: 'KEYS' | 'ARGV'): number[] {
  return [...nodesOf(chunk)]
    .filter((node) => node.type === 'IndexExpression' && baseOf(node)?.name === table)
    .map((node) => node['index'] as LuaNode)
    .filter(({ type }) => type === 'NumericLiteral')
    .map((index) => index['value'] as number);
}

/** The functions that a script defines at its top level, as text and by name. */
export function functionsOf(text: string): { readonly names: string[]; readonly text: string } {
  const found = parseLua(text).body.filter(({ type }) => type === 'FunctionDeclaration');
  return {
    names: found.map((node) => (node['identifier'] as LuaIdentifier).name),
    text: found.map(({ range }) => text.slice(...range)).join('\n'),
  };
}

/** How often a script names a variable. */
export function timesNamed(chunk: LuaChunk, name: string): number {
  return [...nodesOf(chunk)].filter((node) => node.type === 'Identifier' && node['name'] === name).length;
}

/** The variable in which something lies: `x` of `x[1].y`. */
function baseOf(node: unknown): LuaIdentifier | undefined {
  if (!isNode(node)) return undefined;
  return node.type === 'Identifier' ? (node as LuaIdentifier) : baseOf(node['base']);
}

function isNode(value: unknown): value is LuaNode {
  return typeof value === 'object' && value !== null && 'type' in value;
}
