import { randomBytes } from 'node:crypto';
import { describe } from './describe';

/** Bytes of an id in Redis; in the API it has twice as many hex digits. */
const ID_BYTES = 16;
const ID_TEXT = /^[0-9a-f]{32}$/i;
/** More ids than this would not fit into one command (Redis takes 1024 * 1024 arguments). */
const MAX_IDS = 1_000_000;

/**
 * New ids, as stored in Redis.
 *
 * @param count - how many
 * @throws RangeError if they do not fit into one command
 */
export function newPermitIds(count: number): Buffer[] {
  if (count > MAX_IDS) throw new RangeError(`permits must be at most ${MAX_IDS} at once, got ${count}`);
  const random = randomBytes(count * ID_BYTES);
  return Array.from({ length: count }, (_, i) => random.subarray(i * ID_BYTES, (i + 1) * ID_BYTES));
}

/**
 * The id as stored in Redis.
 *
 * @returns `undefined` for a string that cannot be an id: there is no such permit
 * @throws TypeError unless it is a string
 */
export function parsePermitId(text: unknown): Buffer | undefined {
  if (typeof text !== 'string') throw new TypeError(`a permit id must be a string, got ${describe(text)}`);
  return ID_TEXT.test(text) ? Buffer.from(text, 'hex') : undefined;
}
