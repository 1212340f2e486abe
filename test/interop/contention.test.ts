import { expect } from 'chai';
import { RedisServer } from '../../tools/redisServer';
import { uniqueName } from '../support/uniqueName';
import type { BenchResults } from './support/benchTypes';
import { JavaRedisson } from './support/JavaRedisson';
import { NodeRedisson } from './support/NodeRedisson';
import { at, type Path } from './support/paths';
import type { Peer } from './support/Peer';
import { Probe } from './support/Probe';
import { Stage } from './support/Stage';
import { describeWithJava } from './support/suites';

/** Of fighting, for each kind; `INTEROP_SECONDS=20` for a long look. */
const SECONDS = Number(process.env['INTEROP_SECONDS'] ?? '4');

/** Of each of the four processes. */
const THREADS = 8;

/** One process with its client for locking and its client for the proof. */
interface Fighter {
  readonly driver: JavaRedisson | NodeRedisson;
  readonly locking: Peer;
  readonly checking: Peer;
}

// Two JVMs and two Node processes fight for one lock. Each stay inside is proved over other connections than the
// lock's: the holder key is empty on the way in, and a counter that is read, then written, loses no stay.
describeWithJava('interop: two JVMs and two Node processes on one hot lock', () => {
  let server: RedisServer;
  let probe: Probe;
  let fighters: Fighter[] = [];

  before(async () => {
    // The suites before this one are done with theirs, and those after it open their own.
    await Stage.closeShared();
    await JavaRedisson.closeShared();
    server = await RedisServer.start();
    probe = await Probe.open(server.url);
    const drivers = await Promise.all([
      JavaRedisson.start(),
      JavaRedisson.start(),
      NodeRedisson.start(),
      NodeRedisson.start(),
    ]);
    fighters = await Promise.all(
      drivers.map(async (driver, i) => {
        // The last one passes plain and write locks and values on before Redis knows. For values Java needs the codec.
        const config = { addresses: [server.url], codec: 'string' as const, ...(i === 3 && { localHandOver: true }) };
        return { driver, locking: await driver.peer(config), checking: await driver.peer(config) };
      }),
    );
  });

  after(async () => {
    await Promise.all(fighters.map(({ driver }) => driver.close()));
    await probe?.close();
    await server?.stop();
  });

  const kinds: readonly (readonly [string, (name: string) => Path])[] = [
    ['lock', at.lock],
    ['fair lock', at.fair],
    ['write lock', at.write],
    ['values of a group', (name) => at.group(name, ['a', 'b'])],
  ];

  for (const [title, path] of kinds) {
    it(`${title}: never two inside, every process gets a tenth of its fair share, every stay is counted`, async function () {
      this.timeout((SECONDS + 60) * 1000);
      const name = uniqueName();
      const before = await probe.commandCounts();
      // All of them warm up, then start together.
      const startAt = Date.now() + 500;
      const results = await Promise.all(
        fighters.map(({ locking, checking }) =>
          locking.bench('hot', {
            object: path(name),
            threads: THREADS,
            durationMs: SECONDS * 1000,
            startAt,
            check: { client: checking.name, counter: `counter-${name}`, holder: `holder-${name}` },
          }),
        ),
      );
      const stays = results.reduce((total, result) => total + sum(result), 0);
      console.log(`      ${await summary(results, stays, before)}`);
      for (const result of results) {
        expect(result).to.include({ violations: 0, error: null });
        // A14: with the default of maxHandOvers, whoever takes one turn at a time has a tenth of its fair share.
        expect(sum(result)).to.be.at.least(stays / results.length / 10);
      }
      expect(await probe.redis.get(`counter-${name}`)).to.equal(String(stays));
      expect(await probe.redis.get(`holder-${name}`)).to.equal('');
      expect((await probe.keysLeft(name, 'java')).sort()).to.deep.equal([`counter-${name}`, `holder-${name}`]);
    });
  }

  /** What each side got, and what it cost: scripts and wake-up messages for each time somebody was inside. */
  async function summary(
    results: readonly BenchResults['hot'][],
    stays: number,
    before: Readonly<Record<string, number>>,
  ): Promise<string> {
    const after = await probe.commandCounts();
    const each = (command: string): string => (((after[command] ?? 0) - (before[command] ?? 0)) / stays).toFixed(1);
    const shares = results.map((result, index) => `${fighters[index]?.locking.side} ${sum(result)}`).join(', ');
    return `${shares}; per stay ${each('evalsha')} scripts, ${each('publish')} wake-ups`;
  }
});

function sum(result: BenchResults['hot']): number {
  return result.acquisitions.reduce((total, one) => total + one, result.late);
}
