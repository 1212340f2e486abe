import { ConfigError } from '../../errors/usageErrors';
import { nearest } from '../../util/describe';
import type { IntrospectionSettings } from '../Settings';
import { say } from './Filled';
import { flag, type Parser } from './parsers';

const ON: IntrospectionSettings = Object.freeze({ callSites: false });

/** Parses `true`, `false`, and `{ callSites }`. */
export const introspection: Parser<false | IntrospectionSettings> = {
  form: 'boolean',
  parse(value, key, hidden) {
    if (value === false) return false;
    if (value === true) return ON;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ConfigError(`${key} must be true, false or { callSites: <boolean> }, got ${say(value, hidden)}`);
    }
    for (const name of Object.keys(value)) {
      if (name === 'callSites') continue;
      throw new ConfigError(`Unknown setting '${key}.${name}'; did you mean '${key}.${nearest(name, ['callSites'])}'?`);
    }
    const { callSites } = value as { readonly callSites?: unknown };
    if (callSites === undefined || callSites === null) return ON;
    return Object.freeze({ callSites: flag.parse(callSites, `${key}.callSites`, hidden) });
  },
};
