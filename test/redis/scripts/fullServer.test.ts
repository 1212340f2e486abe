import { expect } from 'chai';
import { ALL_KINDS } from '../../../lib/kinds/allKinds';
import { RedisServer, trackClient } from '../../support';
import { layOut, runSample, SAMPLES, titleOf } from './samples';
import { ScriptBench } from './ScriptBench';

/**
 * What takes or makes something, by its name in a descriptor, and the check of a queue, which may claim: they need
 * memory.
 */
const NEEDS_MEMORY = /^(?:acquire|tryAcquire|trySet\w+|set\w+|add\w+|drain|checkTurn)$/;

const needing = new Set(
  ALL_KINDS.flatMap((kind) =>
    Object.entries(kind).flatMap(([role, part]) => {
      const { name } = (part ?? {}) as { readonly name?: string };
      return NEEDS_MEMORY.test(role) && name !== undefined ? [name] : [];
    }),
  ),
);

describe('on a server without free memory', () => {
  let full: ScriptBench;
  let free: ScriptBench;

  beforeEach(async () => {
    const server = trackClient(await RedisServer.start());
    [full, free] = [await ScriptBench.open('full', server.url), await ScriptBench.open('free', server.url)];
  });

  const samples = SAMPLES.filter(({ script }) => !needing.has(script.name));

  it('what gives something back, renews it or reads it does the same as ever: a write that is allowed comes first', async () => {
    const refused: string[] = [];
    for (const sample of samples) {
      for (const bench of [free, full]) {
        await layOut(bench, sample, bench.name);
        if (bench === full) await bench.redis.config('SET', 'maxmemory', '1');
        await runSample(bench, sample, bench.name).catch((error: Error) => {
          refused.push(`${titleOf(sample)}: ${error.message}`);
        });
        await bench.redis.config('SET', 'maxmemory', '0');
      }
      expect(await full.contents(), titleOf(sample)).to.deep.equal(await free.contents());
      await full.redis.flushall();
    }
    expect(refused).to.deep.equal([]);
    expect(samples.length).to.be.greaterThan(40);
  });

  it('a write that needs memory is refused: that is what the test above is about', async () => {
    await full.redis.config('SET', 'maxmemory', '1');
    for (const sample of SAMPLES.filter(({ script }) => script.name === 'lock.acquire').slice(0, 1)) {
      const error = await runSample(full, sample, full.name).catch((reason: Error) => reason);
      expect(String(error)).to.match(/OOM/);
    }
    await full.redis.config('SET', 'maxmemory', '0');
  });
});
