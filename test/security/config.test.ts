import { expect } from 'chai';
import fc from 'fast-check';
import type { RedissonOptions } from '../../lib/config/RedissonOptions';
import { Config } from '../../lib/config/builder/Config';
import { resolveConfig } from '../../lib/config/builder/resolveConfig';
import { COMMON } from '../../lib/config/parse/schema';
import { SECTIONS } from '../../lib/config/parse/sections';
import { ConfigError } from '../../lib/errors';
import { anyText, anyValue, fuzz } from './fuzz';

const SECRET = 'geheim-7f3a';
const COMMON_KEYS = Object.keys(COMMON);
const SECTION_NAMES = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];

/** Settings by their right names, with values of any kind; and some unknown ones. */
const anySettings = fc.dictionary(
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...COMMON_KEYS, 'url', 'client') },
    { weight: 1, arbitrary: anyText },
  ),
  anyValue,
  { maxKeys: 6 },
);

/**
 * Runs what reads a configuration.
 *
 * @returns what it threw; undefined if it was fine with it
 */
function refusal(read: () => unknown): Error | undefined {
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  try {
    read();
    return undefined;
  } catch (error) {
    expect(error, String((error as Error).stack)).to.be.instanceOf(ConfigError);
    return error as Error;
  } finally {
    expect(Object.getOwnPropertyNames(Object.prototype).join(), 'Object.prototype').to.equal(before);
  }
}

/** Everything that somebody may see of an error. */
function shown(error: Error): string {
  const cause = error.cause instanceof Error ? `${error.cause.message} ${error.cause.stack ?? ''}` : '';
  return `${error.message} ${error.stack ?? ''} ${cause}`;
}

describe('fuzzing the configuration', function () {
  this.timeout(60_000);

  it('whatever is given as configuration: settings, or a ConfigError', () => {
    fc.assert(
      fc.property(fc.oneof(anyValue, anySettings), (input) => {
        refusal(() => resolveConfig(input as RedissonOptions, {}));
      }),
      fuzz(500),
    );
  });

  it('every setting with every kind of value: taken, or a ConfigError that names the setting', () => {
    fc.assert(
      fc.property(fc.constantFrom(...COMMON_KEYS), anyValue, (key, value) => {
        const error = refusal(() => resolveConfig({ [key]: value }, {}));
        if (error !== undefined) expect(error.message).to.contain(key);
      }),
      fuzz(500),
    );
  });

  it('sections of a file with values of any kind: taken, or a ConfigError', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SECTION_NAMES).chain((section) =>
          fc.tuple(
            fc.constant(section),
            fc.dictionary(fc.constantFrom(...Object.keys(SECTIONS[section])), fc.oneof(fc.jsonValue(), fc.string()), {
              maxKeys: 5,
            }),
          ),
        ),
        ([section, values]) => {
          refusal(() => resolveConfig(Config.fromJSON(`${JSON.stringify({ [section]: values })}\n`), {}));
        },
      ),
      fuzz(400),
    );
  });

  it('any text as YAML: a Config, or a ConfigError', () => {
    const line = fc.oneof(
      fc.constantFrom(...SECTION_NAMES).map((name) => `${name}:`),
      fc
        .tuple(fc.constantFrom(...COMMON_KEYS), fc.oneof(anyText, fc.jsonValue().map(String)))
        .map(([key, value]) => `  ${key}: ${value}`),
      fc.constantFrom(
        '&a [*a]',
        '<<: *a',
        '? x',
        '- !<org.redisson.X> {a: 1}',
        '!!binary "x"',
        '%YAML 1.1',
        '---',
        '...',
      ),
      fc.constantFrom('  address: "${HOST:-redis://h}"', '  password: ${', '__proto__: {polluted: 1}', '\t', '{', ']'),
      anyText,
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        // With a line break at its end it is never taken for a path.
        refusal(() => Config.fromYAML(`${lines.join('\n')}\n`));
      }),
      fuzz(500),
    );
  });

  it('aliases that multiply are refused, in no time', () => {
    const levels = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${i === 0 ? '1' : `*a${i - 1}, *a${i - 1}`}]`);
    const error = refusal(() => Config.fromYAML(`singleServerConfig: {address: "redis://h"}\n${levels.join('\n')}\n`));
    expect(error).to.be.instanceOf(ConfigError);
  });

  it('no error shows a password, wherever in an address or a file the mistake is', () => {
    const broken = fc.tuple(
      fc.nat({ max: 60 }),
      fc.nat({ max: 4 }),
      fc.constantFrom('', '/', '@', ':', '%', ' ', '\n', '#', '[', '?'),
    );
    const damage = (text: string, [at, length, by]: [number, number, string]): string => {
      // The secret itself stays whole: that is what is looked for.
      const secretAt = text.indexOf(SECRET);
      const place = at % text.length;
      const cut = place <= secretAt ? Math.min(length, secretAt - place) : length;
      if (place > secretAt && place < secretAt + SECRET.length) return text;
      return text.slice(0, place) + by + text.slice(place + cut);
    };
    fc.assert(
      fc.property(
        fc.array(broken, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('url', 'yaml', 'list'),
        (all, how) => {
          const url = all.reduce(damage, `redis://user:${SECRET}@host:6379/1`);
          const error = refusal(() => {
            if (how === 'url') resolveConfig(url, {});
            else if (how === 'list') resolveConfig({ url: [url] as unknown as string }, {});
            else
              Config.fromYAML(all.reduce(damage, `singleServerConfig:\n  password: ${SECRET}\n  adress: redis://h\n`));
          });
          if (error !== undefined) expect(shown(error)).to.not.contain(SECRET);
        },
      ),
      fuzz(500),
    );
  });
});
