import { inspect } from 'node:util';
import { ConfigError } from '../errors/ConfigError';
import type { NameMapper } from './NameMapper';

/**
 * Checks the name of a lock or synchronizer, before anything is sent to Redis.
 *
 * @param name - as given by the user
 * @param what - what it names, for the error, e.g. `lock`
 * @returns the name
 * @throws ConfigError unless it is a non-empty string
 */
export function validateName(name: unknown, what = 'lock'): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new ConfigError(`The name of a ${what} must be a non-empty string, got ${inspect(name)}`);
}

/**
 * The raw name of a lock or synchronizer: its key in Redis.
 *
 * @param name - as given by the user, checked
 * @param mapper - the name mapper of the settings
 * @param what - what it names, for the error
 * @returns what the mapper makes of it
 * @throws ConfigError when that is not a non-empty string
 */
export function mapName(name: string, mapper: NameMapper, what = 'lock'): string {
  const mapped: unknown = mapper.map(name);
  if (typeof mapped === 'string' && mapped !== '') return mapped;
  throw new ConfigError(
    `The nameMapper must give a non-empty string for the ${what} '${name}', but gave ${inspect(mapped)}`,
  );
}
