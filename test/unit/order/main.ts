/*
 * Many seeds of the fuzzer, with a table of what they found:
 *   node -r ./tools/register.cjs test/unit/order/main.ts --seeds 100 --mode lock-redis-calm --first 1 --show 1
 */
import { describeFailure, type Outcome, runSeed } from './FuzzSeed';
import { MODES, nameOf } from './modes';

function option(name: string, usual: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : (process.argv[at + 1] ?? usual);
}

async function main(): Promise<void> {
  const seeds = Number(option('seeds', '20'));
  const first = Number(option('first', '1'));
  const pattern = new RegExp(option('mode', '.'));
  const show = Number(option('show', '0'));
  const only = new RegExp(option('only', '.'));
  const totals = new Map<string, number>();
  let ran = 0;
  let wrong = 0;
  const startedAt = process.hrtime.bigint();
  for (const mode of MODES.filter((one) => pattern.test(nameOf(one)))) {
    const failed: Outcome[] = [];
    let calls = 0;
    let errors = 0;
    for (let seed = first; seed < first + seeds; seed++) {
      const outcome = await runSeed(seed, mode);
      ran++;
      calls += outcome.calls;
      errors += outcome.errors;
      if (outcome.violations.length > 0) failed.push(outcome);
    }
    wrong += failed.length;
    const kinds = new Map<string, number>();
    for (const { violations } of failed) {
      const kind = /^[A-Z ]+(?= )/.exec(violations[0]!.text)?.[0] ?? '?';
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      totals.set(kind, (totals.get(kind) ?? 0) + 1);
    }
    const list = [...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ');
    console.log(
      `${nameOf(mode).padEnd(40)} ${failed.length} of ${seeds} wrong  (${calls} calls, ${errors} errors)  ${list}`,
    );
    for (const one of failed.filter(({ violations }) => only.test(violations[0]!.text)).slice(0, show)) {
      console.log(describeFailure(one, Number(option('lines', '70'))));
    }
  }
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  console.log(`${wrong} of ${ran} wrong in ${seconds.toFixed(1)} s: ${JSON.stringify([...totals])}`);
}

void main();
