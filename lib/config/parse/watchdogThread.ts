import { ConfigError } from '../../errors/usageErrors';
import { nearest } from '../../util/describe';
import type { WatchdogThreadSettings } from '../Settings';
import { say } from './Filled';
import { millis, type Parser } from './parsers';

/** Default of {@link WatchdogThreadSettings.maxStall}, in ms. */
const MAX_STALL_MS = 60_000;

const DEFAULT: WatchdogThreadSettings = Object.freeze({ maxStall: MAX_STALL_MS });
const stall = millis(1);

/** Parses `true`, `false`, and `{ maxStall }`. */
export const watchdogThread: Parser<false | WatchdogThreadSettings> = {
  form: 'boolean',
  parse(value, key, hidden) {
    if (value === false) return false;
    if (value === true) return DEFAULT;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ConfigError(`${key} must be true, false or { maxStall: <ms> }, got ${say(value, hidden)}`);
    }
    for (const name of Object.keys(value)) {
      if (name === 'maxStall') continue;
      throw new ConfigError(`Unknown setting '${key}.${name}'; did you mean '${key}.${nearest(name, ['maxStall'])}'?`);
    }
    const { maxStall } = value as { readonly maxStall?: unknown };
    if (maxStall === undefined || maxStall === null) return DEFAULT;
    return Object.freeze({ maxStall: stall.parse(maxStall, `${key}.maxStall`, hidden) });
  },
};
