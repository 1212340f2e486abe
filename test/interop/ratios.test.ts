import { expect } from 'chai';
import { RedisServer } from '../../tools/redisServer';
import { uniqueName } from '../support/uniqueName';
import { JavaRedisson } from './support/JavaRedisson';
import { NodeRedisson } from './support/NodeRedisson';
import { at, type Path } from './support/paths';
import type { Peer } from './support/Peer';
import { Probe } from './support/Probe';
import { Stage } from './support/Stage';
import { describeWithJava } from './support/suites';

/** `INTEROP_RATIOS=full`: four processes and long rounds, and every ratio has to hold; else a short look. */
const FULL = process.env['INTEROP_RATIOS'] === 'full';
const SIZE = FULL
  ? { processes: 4, threads: 25, seconds: 10, warmup: 10_000, n: 5000, rounds: 100, times: 7 }
  : { processes: 2, threads: 25, seconds: 2, warmup: 3000, n: 2000, rounds: 40, times: 3 };

interface Measured {
  readonly sequential: number;
  readonly keys: number;
  readonly hot: number;
  readonly scripts: number;
  readonly fairness: number;
  readonly starved: number;
  readonly wakeup: number;
  readonly drain: number;
}

type Driver = JavaRedisson | NodeRedisson;

/** Who is measured: the clients, one in each process, and the kind of lock. */
interface Contender {
  readonly peers: readonly Peer[];
  readonly path: (name: string) => Path;
}

// Java alone, Node alone, and what ioredis can do at all, one after the other on one server, in one run: only the
// ratios mean anything, since machines differ.
describeWithJava('interop: Java and Node measured in one run', () => {
  let server: RedisServer;
  let probe: Probe;
  let java: Measured;
  let node: Measured;
  let floor: Measured;

  before(async function () {
    this.timeout(600_000);
    await Stage.closeShared();
    await JavaRedisson.closeShared();
    server = await RedisServer.start();
    probe = await Probe.open(server.url);
    const [jvms, nodes] = [
      await several(() => JavaRedisson.start({ tuning: 'full' })),
      await several(() => NodeRedisson.start()),
    ];
    try {
      const peersOf = (drivers: readonly Driver[]): Promise<Peer[]> =>
        Promise.all(drivers.map((driver) => driver.peer({ addresses: [server.url] })));
      [java, node, floor] = await measure([
        { peers: await peersOf(jvms), path: at.lock },
        { peers: await peersOf(nodes), path: at.lock },
        { peers: await peersOf(nodes), path: at.raw },
      ]);
    } finally {
      await Promise.all([...jvms, ...nodes].map((driver) => driver.close()));
    }
    console.table({ java, node, floor, 'node / java': ratio(node, java), 'node / floor': ratio(node, floor) });
  });

  after(async () => {
    await probe?.close();
    await server?.stop();
  });

  function several(start: () => Promise<Driver>): Promise<Driver[]> {
    return Promise.all(Array.from({ length: SIZE.processes }, start));
  }

  /**
   * Each quantity of all contenders right after each other, a few times over, so that a change of the machine's load
   * meets all; the medians count.
   */
  async function measure(contenders: [Contender, Contender, Contender]): Promise<[Measured, Measured, Measured]> {
    const measured: Record<string, number>[] = contenders.map(() => ({}));
    for (const { quantity, times } of QUANTITIES) {
      const rounds = contenders.map((): Partial<Measured>[] => []);
      for (let round = 0; round < times; round++) {
        for (const [index, contender] of contenders.entries()) rounds[index]?.push(await quantity(contender));
      }
      for (const [index, values] of rounds.entries()) measured[index] = { ...measured[index], ...medians(values) };
    }
    return measured as unknown as [Measured, Measured, Measured];
  }

  const QUANTITIES = [
    { quantity: sequential, times: SIZE.times },
    { quantity: manyKeys, times: 1 },
    { quantity: hotKey, times: 1 },
    { quantity: slowKey, times: 1 },
    { quantity: wakeup, times: SIZE.times },
    { quantity: drain, times: SIZE.times },
  ];

  const durationMs = SIZE.seconds * 1000;

  async function sequential({ peers: [first], path }: Contender): Promise<Partial<Measured>> {
    const parameters = { object: path(uniqueName()), n: SIZE.n, warmup: SIZE.warmup };
    return { sequential: (await first?.bench('sequential', parameters))?.perSecond ?? NaN };
  }

  async function manyKeys({ peers: [first], path }: Contender): Promise<Partial<Measured>> {
    const result = await first?.bench('hot', { object: path(`${uniqueName()}-%d`), threads: 100, durationMs });
    return { keys: total(result?.acquisitions ?? []) / SIZE.seconds };
  }

  async function hotKey({ peers, path }: Contender): Promise<Partial<Measured>> {
    const before = await scripts();
    const hot = await fight(peers, path(uniqueName()), 0);
    const perStay = ((await scripts()) - before) / total(hot);
    return { hot: total(hot) / SIZE.seconds, scripts: perStay, fairness: Math.min(...hot) / Math.max(...hot) };
  }

  async function slowKey({ peers, path }: Contender): Promise<Partial<Measured>> {
    const slow = await fight(peers, path(uniqueName()), 5);
    return { starved: slow.filter((stays) => stays === 0).length };
  }

  async function wakeup({ peers: [first], path }: Contender): Promise<Partial<Measured>> {
    const result = await first?.bench('wakeup', { object: path(uniqueName()), rounds: SIZE.rounds, warmup: 20 });
    return { wakeup: result?.p50 ?? NaN };
  }

  async function drain({ peers: [first], path }: Contender): Promise<Partial<Measured>> {
    const parameters = { object: path(uniqueName()), waiters: 100, rounds: 1, settleMs: 500 };
    return { drain: Math.min(...((await first?.bench('drain', parameters))?.roundsMs ?? [])) };
  }

  /** The stays of every thread of every process. */
  async function fight(peers: readonly Peer[], object: Path, insideMs: number): Promise<number[]> {
    const startAt = Date.now() + 300;
    const parameters = { object, threads: SIZE.threads, durationMs, insideMs, startAt };
    const results = await Promise.all(peers.map((peer) => peer.bench('hot', parameters)));
    for (const { error } of results) expect(error).to.equal(null);
    return results.flatMap((result) => result.acquisitions);
  }

  async function scripts(): Promise<number> {
    return (await probe.commandCounts())['evalsha'] ?? 0;
  }

  it('Node needs fewer scripts for each time somebody is inside', () => {
    expect(node.scripts).to.be.below(java.scripts);
  });

  it('Node lets more in through a hot lock, and starves nobody', () => {
    expect(node.hot).to.be.above(java.hot);
    expect(node.fairness).to.be.above(java.fairness);
    expect(node.starved).to.equal(0);
  });

  it('Node drains a hundred waiters faster', () => {
    expect(node.drain).to.be.below(java.drain);
  });

  // Rates of one uncontended loop, and latencies, sway with the load of the machine: asserted where nothing else runs.
  if (FULL) {
    it('Node is faster at everything else, too', () => {
      expect(node.sequential).to.be.above(java.sequential);
      expect(node.keys).to.be.above(java.keys);
      expect(node.wakeup).to.be.below(java.wakeup);
    });
  }
});

/** Of each quantity the value in the middle. */
function medians(values: readonly Partial<Measured>[]): Record<string, number> {
  const keys = Object.keys(values[0] ?? {}) as (keyof Measured)[];
  const middle = (key: keyof Measured): number =>
    values.map((value) => value[key] ?? NaN).sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  return Object.fromEntries(keys.map((key) => [key, middle(key)]));
}

function total(stays: readonly number[]): number {
  return stays.reduce((sum, one) => sum + one, 0);
}

function ratio(one: Measured, other: Measured): Record<string, string> {
  const keys = Object.keys(one) as (keyof Measured)[];
  return Object.fromEntries(keys.map((key) => [key, (one[key] / other[key]).toFixed(2)]));
}
