import fc from 'fast-check';

const seedText = process.env['FUZZ_SEED'];
const runsText = process.env['FUZZ_RUNS'];

/**
 * How fast-check runs here: the same inputs every time, so that a failure is the change's. `FUZZ_SEED=random` and
 * `FUZZ_RUNS=100000` look for more; a failure prints seed and path.
 *
 * @param runs - how many inputs, unless `FUZZ_RUNS` says otherwise
 */
export function fuzz(runs: number): { readonly seed?: number; readonly numRuns: number } {
  const numRuns = runsText === undefined ? runs : Number(runsText);
  if (seedText === 'random') return { numRuns };
  return { seed: seedText === undefined ? 20_261_122 : Number(seedText), numRuns };
}

/** A text of any kind: control characters, braces, lone surrogates, very long ones. */
export const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom('{', '}', ':', '*', '?', '[', ']', '\\', '\0', '\r', '\n', 'a', '%', "'") }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'redisson_lock__channel',
    '',
    ' ',
    '\ud800',
    'x'.repeat(70_000),
  ),
);

/** A value of any kind, objects with odd prototypes among them. */
export const anyValue = fc.oneof(
  { weight: 3, arbitrary: fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }) },
  { weight: 2, arbitrary: anyText },
  { weight: 2, arbitrary: fc.double() },
  { weight: 2, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.constantFrom(Infinity, -Infinity, NaN, -0, 2 ** 53, -1, 1e308, 5e-324, 0.5, 10n) },
);
