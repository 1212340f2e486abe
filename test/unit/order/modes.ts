/** Objects that one seed works on. */
export const FAMILIES = [
  ...['lock', 'fair', 'fenced', 'spin', 'nonReentrant', 'nonReentrantFair'],
  ...['readWrite', 'group', 'multi'],
] as const;
export type Family = (typeof FAMILIES)[number];

/**
 * What goes wrong in a seed: nothing but delays of 1 to 8 ms; one command in five is refused and comes later;
 * connections that break, with replies that are lost; a server that refuses for a while or for good; one that hangs.
 */
export const TROUBLES = ['calm', 'retries', 'breaks', 'refusals', 'silence'] as const;
export type Trouble = (typeof TROUBLES)[number];

/** What else happens besides acquiring and releasing. */
export const EXTRAS = ['plain', 'force', 'tickets', 'deploy', 'renewals'] as const;
export type Extra = (typeof EXTRAS)[number];

/** What the seeds of one mode have in common. */
export interface Mode {
  readonly family: Family;
  readonly local: boolean;
  readonly trouble: Trouble;
  readonly extra: Extra;
}

export function nameOf({ family, local, trouble, extra }: Mode): string {
  return [family, local ? 'local' : 'redis', trouble, extra].join('-');
}

/** Kinds that `localHandOver` passes on. */
const PASSED_ON = new Set<Family>(['lock', 'nonReentrant', 'readWrite', 'group', 'multi']);
/** Kinds whose holds can move by ticket. */
const MOVES = new Set<Family>(['lock', 'fenced', 'nonReentrant', 'spin', 'readWrite', 'fair', 'nonReentrantFair']);

export const MODES: readonly Mode[] = FAMILIES.flatMap((family) =>
  [false, true].flatMap((local) =>
    TROUBLES.flatMap((trouble) => EXTRAS.map((extra): Mode => ({ family, local, trouble, extra }))),
  ),
).filter(({ family, local, extra }) => (!local || PASSED_ON.has(family)) && (extra !== 'tickets' || MOVES.has(family)));
