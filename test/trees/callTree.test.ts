// Ids in titles: test/README.md
import { randomInt } from 'node:crypto';
import pDefer from 'p-defer';
import { newClient } from '../redis/synchronizers/support';
import { uniqueName } from '../support';
import { Random } from '../faults/Random';
import { CallTree } from './CallTree';

/** How long trees are tried, in ms. */
const TIME_MS = Number(process.env['TREE_TIME'] ?? 5_000);
/** A tree takes a tenth of a second. */
const STUCK_MS = 4_000;

/**
 * A10, docs/threads.md, whatever is mixed: a model that knows nothing of async contexts watches random trees of calls.
 */
describe('random trees of calls', () => {
  it('A10: overlap only where one call runs inside the other, re-enter where they must, and leave nothing', async function () {
    this.timeout(TIME_MS + 2 * STUCK_MS);
    const first = Number(process.env['TREE_SEED'] ?? randomInt(1, 2 ** 31));
    const client = newClient();
    const until = performance.now() + TIME_MS;
    let seed = first;
    let trees = 0;
    const counts: Record<string, number> = {};
    do {
      const tree = new CallTree(client, uniqueName('tree'), new Random(seed));
      try {
        const stuck = pDefer<never>();
        const timer = setTimeout(() => stuck.reject(new Error(`stuck: ${tree.state}`)), STUCK_MS);
        await Promise.race([tree.run(), stuck.promise]).finally(() => clearTimeout(timer));
      } catch (error) {
        throw new Error(`TREE_SEED=${seed}: ${String(error)}; ${tree.log.slice(-60).join(', ')}`, { cause: error });
      }
      for (const [what, n] of Object.entries(tree.counts)) counts[what] = (counts[what] ?? 0) + n;
      trees++;
      seed++;
    } while (performance.now() < until && process.env['TREE_SEED'] === undefined);
    console.log(`      ${trees} trees from seed ${first}: ${JSON.stringify(counts)}`);
  });
});
