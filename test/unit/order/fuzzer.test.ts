import { describeFailure, runSeed } from './FuzzSeed';
import { FAMILIES, MODES, nameOf } from './modes';

/*
 * Several calls of one owner at a time: see README.md.
 *
 *   FUZZ_SEEDS=10000 npx mocha test/unit/order/fuzzer.test.ts         so many seeds, over all modes
 *   FUZZ_SEED=7 FUZZ_MODE=lock-redis-retries-plain npx mocha …        one seed
 */
const { FUZZ_SEEDS = '300', FUZZ_SEED, FUZZ_MODE } = process.env;

const chosen = MODES.filter((mode) => FUZZ_MODE === undefined || nameOf(mode) === FUZZ_MODE);

describe('several calls of one owner at a time', function () {
  this.timeout(3_600_000);

  for (const family of FAMILIES) {
    const modes = chosen.filter((mode) => mode.family === family);
    const each = Math.ceil((Number(FUZZ_SEEDS) * modes.length) / chosen.length);
    const seeds = FUZZ_SEED === undefined ? Array.from({ length: each }, (_, i) => i + 1) : [Number(FUZZ_SEED)];
    if (modes.length === 0) continue;

    it(`${family}: ${seeds.length} seeds`, async () => {
      const failures: string[] = [];
      for (const seed of seeds) {
        const outcome = await runSeed(seed, modes[seed % modes.length]!);
        if (outcome.violations.length > 0) failures.push(describeFailure(outcome));
      }
      if (failures.length > 0) throw new Error(`${failures.length} of ${seeds.length} seeds\n${failures[0]}`);
    });
  }
});
