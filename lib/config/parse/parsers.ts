import { ConfigError } from '../../errors/usageErrors';
import { nearest } from '../../util/describe';
import { MAX_TIMER_MS } from '../../util/duration';
import { parseAddress, type ParsedAddress } from './address';
import { type Hidden, say } from './Filled';
import { Secret } from '../Secret';

/** How a text in a file is converted to the value of a setting; values given in code are not converted. */
export type TextForm = 'integer' | 'boolean' | 'text' | 'list' | 'other';

/** Checks the value of one setting. */
export interface Parser<T> {
  /** How to read it from the text of a YAML or JSON file. */
  readonly form: TextForm;
  /**
   * @param value - as given by the user
   * @param key - the name of the setting, for the error
   * @param hidden - which values the error must not show
   * @returns the checked value
   * @throws ConfigError that names the setting and, unless it is a secret, the value
   */
  parse(value: unknown, key: string, hidden?: Hidden): T;
}

/**
 * @param wanted - what a value must be, for the error
 * @param fits - whether it is
 * @returns a parser that takes values as they are
 */
export function plain<T>(form: TextForm, wanted: string, fits: (value: unknown) => value is T): Parser<T> {
  return {
    form,
    parse(value, key, hidden) {
      if (fits(value)) return value;
      throw new ConfigError(`${key} must be ${wanted}, got ${say(value, hidden)}`);
    },
  };
}

/**
 * @param min - the least value
 * @param max - the greatest value
 * @param unit - a text for the error, e.g. ` of milliseconds`
 * @returns a parser of whole numbers
 */
export function integer(min: number, max: number = MAX_TIMER_MS, unit = ''): Parser<number> {
  const fits = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return plain('integer', `a whole number${unit} from ${min} to ${max}`, fits);
}

/**
 * @param min - the least number of milliseconds
 * @returns a parser of times that a Node timer accepts
 */
export function millis(min: number): Parser<number> {
  return integer(min, MAX_TIMER_MS, ' of milliseconds');
}

/** Parses `true` and `false`. */
export const flag = plain('boolean', 'true or false', (value) => typeof value === 'boolean');

/**
 * @param name - of the one setting that there is when it is on
 * @param each - parses that
 * @param usual - its value unless it is given
 * @param example - a text for the error
 * @returns a parser of `false`, `true`, and an object with that setting
 */
export function toggle<const K extends string, T>(
  name: K,
  each: Parser<T>,
  usual: T,
  example: string,
): Parser<false | Readonly<Record<K, T>>> {
  const on = (value: T): Readonly<Record<K, T>> => Object.freeze({ [name]: value } as Record<K, T>);
  return {
    form: 'boolean',
    parse(value, key, hidden) {
      if (typeof value === 'boolean') return value && on(usual);
      // No list, Date, Map or boxed boolean, which have no such setting.
      if (Object.prototype.toString.call(value) !== '[object Object]') {
        throw new ConfigError(`${key} must be true, false or { ${name}: ${example} }, got ${say(value, hidden)}`);
      }
      const other = Object.keys(value as object).find((one) => one !== name);
      if (other !== undefined) {
        throw new ConfigError(`Unknown setting '${key}.${other}'; did you mean '${key}.${nearest(other, [name])}'?`);
      }
      const given = (value as Readonly<Record<string, unknown>>)[name] ?? undefined;
      return on(given === undefined ? usual : each.parse(given, `${key}.${name}`, hidden));
    },
  };
}

/** Parses text that is not empty. */
export const text = plain(
  'text',
  'a non-empty string',
  (value): value is string => typeof value === 'string' && value !== '',
);

/** Parses text; empty text means "not given", as an unset variable in a file results in. */
export const optionalText: Parser<string | undefined> = {
  form: 'text',
  parse(value, key, hidden) {
    if (typeof value === 'string') return value === '' ? undefined : value;
    throw new ConfigError(`${key} must be a string, got ${say(value, hidden)}`);
  },
};

/** Parses the name of a connection; Redis refuses other names, and ioredis would not report that. */
export const connectionName: Parser<string | undefined> = {
  form: 'text',
  parse(value, key, hidden) {
    const name = optionalText.parse(value, key, hidden);
    if (name === undefined || /^[!-~]+$/.test(name)) return name;
    throw new ConfigError(`${key} ${say(name, hidden)} cannot be used: Redis allows no spaces and only ASCII in it`);
  },
};

/** Parses text that must not be shown. Empty text means "no password". */
export const secret: Parser<Secret | undefined> = {
  form: 'text',
  parse(value, key) {
    if (typeof value === 'string') return value === '' ? undefined : new Secret(value);
    throw new ConfigError(`${key} must be a string, got a ${value === null ? 'null' : typeof value}`);
  },
};

/**
 * @param choices - the allowed words
 * @returns a parser of one of them
 */
export function choice<const T extends string>(...choices: readonly T[]): Parser<T> {
  return {
    form: 'text',
    parse(value, key, hidden) {
      const found = choices.find((one) => one === value);
      if (found !== undefined) return found;
      throw new ConfigError(`${key} must be one of ${choices.join(', ')}; got ${say(value, hidden)}`);
    },
  };
}

/** Parses the path of a file, or a `file:` URL as in Redisson. */
export const file: Parser<string> = {
  form: 'text',
  parse(value, key, hidden) {
    const path = value instanceof URL ? value.href : value;
    if (typeof path !== 'string' || path === '') {
      throw new ConfigError(`${key} must be the path of a file, got ${say(value, hidden)}`);
    }
    if (/^[a-z][a-z0-9+.-]+:/i.test(path) && !path.toLowerCase().startsWith('file:')) {
      throw new ConfigError(`${key} must be a local file, got ${say(path, hidden)}`);
    }
    return path;
  },
};

/**
 * @param each - parses one element
 * @param min - the least number of elements
 * @returns a parser of arrays
 */
export function list<T>(each: Parser<T>, min = 1): Parser<readonly T[]> {
  return {
    form: 'list',
    parse(value, key, hidden) {
      if (!Array.isArray(value) || value.length < min) {
        throw new ConfigError(
          `${key} must be a list${min > 0 ? ` of at least ${min}` : ''}, got ${listed(value, hidden)}`,
        );
      }
      return Object.freeze(value.map((one: unknown) => each.parse(one, key, hidden)));
    },
  };
}

/**
 * @param defaultPort - the port if the address has none
 * @returns a parser of addresses
 */
export function address(defaultPort: number): Parser<ParsedAddress> {
  return { form: 'text', parse: (value, key, hidden) => parseAddress(value, key, defaultPort, hidden) };
}

/** Describes what was given instead of a list. A text is not shown: it may be an address with a password. */
function listed(value: unknown, hidden: Hidden | undefined): string {
  return typeof value === 'string' ? (hidden?.(value) ?? 'a string') : say(value, hidden);
}

/** Parses the setting that `lock()` also takes as an option. */
export const watchdogThread = toggle('maxStall', millis(1), 60_000, '<ms>');
