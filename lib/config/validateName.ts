import { inspect } from 'node:util';
import { ConfigError } from '../errors/usageErrors';
import { callUserCode } from '../util/userCode';
import type { NameMapper } from './NameMapper';

/**
 * Half of a surrogate pair: UTF-8 cannot encode it, so Redis would get another name, and several names would be the
 * same.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Checks the name of a lock or synchronizer, before anything is sent to Redis.
 *
 * @param name - as given by the user
 * @param what - what it names, for the error, e.g. `lock`
 * @returns the name
 * @throws ConfigError unless it is a non-empty string, without lone surrogates
 */
export function validateName(name: unknown, what = 'lock'): string {
  if (isName(name)) return name;
  const must =
    typeof name === 'string' && name !== '' ? 'well-formed Unicode (no lone surrogate)' : 'a non-empty string';
  throw new ConfigError(`The name of a ${what} must be ${must}, got ${inspect(name)}`);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !LONE_SURROGATE.test(value);
}

/**
 * The raw name of a lock or synchronizer: its key in Redis.
 *
 * @param name - as given by the user, checked
 * @param mapper - the name mapper of the settings
 * @param what - what it names, for the error
 * @returns the result of the mapper
 * @throws ConfigError if that is not a non-empty string, or has lone surrogates
 */
export function mapName(name: string, mapper: NameMapper, what = 'lock'): string {
  const mapped: unknown = mapper.map(name);
  if (isName(mapped)) return mapped;
  throw new ConfigError(
    `The nameMapper must give a non-empty string of well-formed Unicode for the ${what} '${name}', got ${inspect(mapped)}`,
  );
}

/** The name of a key, as `nameMapper.unmap` gives it; the key itself where that fails. */
export function unmapName(rawName: string, mapper: NameMapper): string {
  const name: unknown = callUserCode('nameMapper.unmap', () => mapper.unmap(rawName), { of: mapper });
  return typeof name === 'string' ? name : rawName;
}

/**
 * Refuses a name that cannot work on a cluster, before anything is sent. Redisson puts a name without `{` in braces and
 * leaves any other as it is, so if a name has braces that are not a hash tag, its keys are on different slots. Without
 * a cluster every name works.
 *
 * @param name - as given by the user
 * @param keys - every key and channel of the object
 * @throws ConfigError if they are not on one slot
 */
export function checkSlots(cluster: { slotOf(key: string): number }, name: string, keys: readonly string[]): void {
  const [slot, ...others] = keys.map((key) => cluster.slotOf(key));
  if (others.every((other) => other === slot)) return;
  throw new ConfigError(
    `The name '${name}' cannot be used on a cluster: its keys (${keys.join(', ')}) belong to different slots. ` +
      'Use a name without braces, or with one balanced, non-empty pair.',
  );
}
