import type { Kind, KindScript } from './Kind';

/** All scripts that the client of a kind sends. */
export function scriptsOf(kind: Kind): readonly KindScript[] {
  const isScript = (part: unknown): part is KindScript => typeof part === 'object' && part !== null && 'sha' in part;
  return [...new Set(Object.values(kind).filter(isScript))];
}
