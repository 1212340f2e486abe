/** The part of a pause that chance decides. */
const RANDOM_PART = 0.6;

/**
 * A pause of at most `ms`, shortened by chance, so that many clients whose connections broke at the same moment do not all
 * come back at the same moment, again and again.
 *
 * @param ms - the longest pause, in ms
 * @returns whole ms, at least two fifths of it
 */
export function jittered(ms: number): number {
  return Math.ceil(ms * (1 - RANDOM_PART * Math.random()));
}
