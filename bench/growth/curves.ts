import { RedisCluster } from '../../test/support/RedisCluster';
import { Redis } from 'ioredis';
import { sleep } from '../harness/clock';
import { freshKey } from '../harness/scenario';
import { ascending, percentile } from '../harness/statistics';
import { type NamesLog, type PassLog, type ValuesLog } from '../scenarios/growth';
import { type Column, cpuMs, type Curve, type Field } from './curve';

const COMMANDS: Column = { id: 'commands', label: 'commands per acquisition', growth: 'flat' };
const CPU: Column = { id: 'cpu', label: 'server CPU / raw lock and unlock', growth: 'flat' };
const HEAP: Column = { id: 'heap', label: 'heap each (bytes)', growth: 'flat' };
const CONNECTIONS: Column = { id: 'connections', label: 'connections', growth: 'work' };

async function connections(field: Field): Promise<number> {
  const count = /connected_clients:(\d+)/.exec(await field.server.info('clients'))?.[1];
  // Without ours.
  return Number(count) - 1;
}

/** So many waiters sleep on one lock; once it is free each has it once. */
async function pass(field: Field, kind: 'plain' | 'fair', waiters: number, processes: number) {
  // The holder is a process of its own, the last one.
  const group = await field.open(processes + 1);
  try {
    const name = freshKey('growth');
    const settleMs = 500 + waiters / 2;
    await group.call(processes, 'growth', 'hold', { name, kind });
    const parameters = { name, kind, waiters: waiters / processes, settleMs };
    const heaps = (await group.callAll('growth', 'queue', parameters, processes)) as number[];
    const open = await connections(field);
    const before = await cpuMs(field.server);
    await group.call(processes, 'growth', 'release', { name, kind });
    const logs = (await group.callAll('growth', 'passed', {}, processes)) as PassLog[];
    const used = (await cpuMs(field.server)) - before;
    const entries = ascending(logs.flatMap(({ enteredAt }) => [...enteredAt]));
    const gaps = entries.slice(1).map((at, index) => at - entries[index]!);
    return {
      commands: logs.reduce((sum, { sent }) => sum + sent, 0) / waiters,
      cpu: used / waiters / field.floorCpuMs,
      spread: percentile(gaps, 0.99) / percentile(gaps, 0.5),
      heap: Math.max(...heaps),
      connections: open,
    };
  } finally {
    group.kill();
  }
}

const SPREAD: Column = { id: 'spread', label: 'p99 / p50 between two entries', growth: 'work' };

function waitersIn(processes: number): Curve {
  return {
    id: `waiters${processes}`,
    title: `Waiters on one lock, in ${processes} ${processes === 1 ? 'process' : 'processes'}`,
    about:
      'So many threads sleep on a held lock; once it is free each takes it once and gives it back. Commands count ' +
      'the first attempts and those after the subscription; beyond that, the message of an unlock goes to each process ' +
      'that waits, and each lets one waiter attempt: Redisson says only that the lock is free. Connections: each of the ' +
      'processes, and one more that holds the lock first, has two clients (one belongs to the benchmark), each with two.',
    of: 'waiters',
    points: [10, 100, 1_000, 10_000].map((point) => Math.ceil(point / processes) * processes),
    columns: [COMMANDS, CPU, SPREAD, HEAP, CONNECTIONS],
    measure: (field, point) => pass(field, 'plain', point, processes),
  };
}

const fairQueue: Curve = {
  id: 'fairQueue',
  title: 'Waiters in the queue of one fair lock',
  about: 'As above, with a fair lock, in one process.',
  of: 'waiters',
  points: [10, 100, 500, 2_000],
  columns: [
    COMMANDS,
    {
      ...CPU,
      growth: 'wire',
      why: 'each turn moves the score of every waiter behind it: Redisson keeps a deadline for each in one sorted set',
    },
    SPREAD,
    HEAP,
    CONNECTIONS,
  ],
  measure: (field, point) => pass(field, 'fair', point, 1),
};

const heldLocks: Curve = {
  id: 'held',
  title: 'Locks that one client holds',
  about: 'Locks without a lease, renewed by the watchdog each third of their life. Nothing else happens.',
  of: 'locks',
  points: [100, 1_000, 10_000, 100_000],
  columns: [
    { id: 'commands', label: 'commands per 1000 renewals', growth: 'flat' },
    { id: 'cpu', label: 'server CPU of a renewal / raw lock and unlock', growth: 'flat' },
    HEAP,
  ],
  async measure(field, count) {
    const lifeMs = field.tiny ? 3_000 : 30_000;
    const group = await field.open(1, lifeMs);
    try {
      const heap = (await group.call(0, 'growth', 'holdMany', { name: freshKey('growth'), count })) as number;
      const before = await cpuMs(field.server);
      const periods = 2;
      const sent = (await group.call(0, 'growth', 'watch', { ms: (periods * lifeMs) / 3 })) as number;
      const renewals = periods * count;
      return {
        commands: (sent / renewals) * 1_000,
        cpu: ((await cpuMs(field.server)) - before) / renewals / field.floorCpuMs,
        heap,
      };
    } finally {
      group.kill();
    }
  },
};

const clients: Curve = {
  id: 'clients',
  title: 'Clients on one server',
  about: 'Clients of one process, each with a waiter on one held lock: one connection for commands, one for messages.',
  of: 'clients',
  points: [1, 10, 100, 500],
  columns: [
    { id: 'connectionsEach', label: 'connections each', growth: 'flat' },
    { id: 'commands', label: 'commands per second, all together, while nothing happens', growth: 'flat' },
    HEAP,
  ],
  async measure(field, count) {
    const group = await field.open(2);
    try {
      const name = freshKey('growth');
      await group.call(1, 'growth', 'hold', { name, kind: 'plain' });
      const before = await connections(field);
      const heap = (await group.call(0, 'growth', 'openMany', { name, count })) as number;
      const ms = 3_000;
      const sent = (await group.call(0, 'growth', 'watch', { ms })) as number;
      // One more client is open, which paid for what is needed once.
      return { connectionsEach: ((await connections(field)) - before) / (count + 1), commands: sent / 3, heap };
    } finally {
      group.kill();
    }
  },
};

const readHolds: Curve = {
  id: 'readHolds',
  title: 'Holds of one read lock',
  about: 'One more reader takes its share and gives it back, beside so many that stay. Then their renewals.',
  of: 'holds',
  points: [10, 100, 1_000, 5_000],
  columns: [
    {
      id: 'cpu',
      label: 'server CPU of one more / raw lock and unlock',
      growth: 'wire',
      why: 'a release looks for the longest of the leases that are left: Redisson keeps one key for each hold',
    },
    { id: 'renewal', label: 'server CPU of a renewal / raw lock and unlock', growth: 'flat' },
    { id: 'commands', label: 'commands per 1000 renewals', growth: 'flat' },
  ],
  async measure(field, count) {
    const lifeMs = field.tiny ? 3_000 : 30_000;
    const group = await field.open(2, lifeMs);
    try {
      const name = freshKey('growth');
      await group.call(0, 'growth', 'holdReads', { name, count });
      let before = await cpuMs(field.server);
      const times = field.tiny ? 10 : 200;
      await group.call(1, 'growth', 'cycleReads', { name, times });
      const cpu = ((await cpuMs(field.server)) - before) / times / field.floorCpuMs;
      before = await cpuMs(field.server);
      const periods = 1;
      const sent = (await group.call(0, 'growth', 'watch', { ms: (periods * lifeMs) / 3 })) as number;
      const renewals = periods * count;
      return {
        cpu,
        renewal: ((await cpuMs(field.server)) - before) / renewals / field.floorCpuMs,
        commands: (sent / renewals) * 1_000,
      };
    } finally {
      group.kill();
    }
  },
};

/** Sets of values of a group that one thread holds: how many values a set has, how many sets, and how they differ. */
interface Sets {
  readonly values: number;
  readonly holds: number;
  readonly step: number;
}

function groupCurve(
  about: Pick<Curve, 'id' | 'title' | 'about' | 'of' | 'points'>,
  setsOf: (point: number) => Sets,
): Curve {
  return {
    ...about,
    columns: [
      { id: 'cpu', label: 'client CPU per value and hold (us)', growth: 'flat' },
      { id: 'server', label: 'server CPU per value and hold / raw lock and unlock', growth: 'flat' },
      { id: 'blocked', label: 'longest block of the event loop (ms)', growth: 'work' },
    ],
    async measure(field, point) {
      const group = await field.open(1, 6_000);
      try {
        const sets = setsOf(point);
        // The first use compiles the code.
        const parameters = { name: freshKey('growth'), ...sets, renewalMs: 2_500 };
        await group.call(0, 'growth', 'cycleValues', { ...parameters, renewalMs: 0 });
        const before = await cpuMs(field.server);
        const { cpuUs, blockedMs } = (await group.call(0, 'growth', 'cycleValues', parameters)) as ValuesLog;
        const server = ((await cpuMs(field.server)) - before) / sets.values / sets.holds / field.floorCpuMs;
        return { cpu: cpuUs, server, blocked: blockedMs };
      } finally {
        group.kill();
      }
    },
  };
}

const groupValues = groupCurve(
  {
    id: 'groupValues',
    title: 'Values of a group in one lock',
    about: 'One lock of so many values of a group is acquired, renewed once and released.',
    of: 'values',
    points: [1_000, 4_000, 10_000, 40_000],
  },
  (values) => ({ values, holds: 1, step: 0 }),
);

const groupNested: Curve = groupCurve(
  {
    id: 'groupNested',
    title: 'Sets of a group inside each other',
    about: 'Sets of 2000 values, each with one value that the set around it does not have.',
    of: 'sets',
    points: [1, 2, 5, 10],
  },
  (holds) => ({ values: 2_000, holds, step: 1 }),
);

const groupReentered: Curve = groupCurve(
  {
    id: 'groupReentered',
    title: 'Holds of the same values of a group',
    about: 'A lock of 100 values, re-entered. A renewal covers all holds, so many of them cost less each.',
    of: 'holds',
    points: [1, 10, 100],
  },
  (holds) => ({ values: 100, holds, step: 0 }),
);

const masters: Curve = {
  id: 'masters',
  title: 'Masters of a cluster',
  about:
    'Locks of many names, taken and given back by one client, 200 at a time. What reaches a server at once costs it less ' +
    'each; with more masters less reaches each of them at once.',
  of: 'masters',
  points: [1, 2, 3],
  columns: [
    COMMANDS,
    // No verdict: the points are too near to one another for what a busy machine adds.
    { ...CPU, growth: 'work' },
    { id: 'busiest', label: 'share of the busiest master x masters', growth: 'flat' },
    { id: 'connections', label: 'connections of the client', growth: 'work' },
  ],
  async measure(field, count) {
    // A cluster has three masters at least; with fewer, the slots are shared by so many servers all the same.
    const cluster = await RedisCluster.start({ masters: count });
    const nodes = cluster.masters.map(({ url }) => new Redis(url));
    const group = await field.open(1);
    try {
      const calls = async (): Promise<number[]> => {
        const stats = await Promise.all(nodes.map((node) => node.info('commandstats')));
        return stats.map((text) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0));
      };
      const parameters = { name: freshKey('growth'), nodes: cluster.urls.join(' '), count: field.tiny ? 300 : 6_000 };
      const usedBy = async (): Promise<number> =>
        (await Promise.all(nodes.map(cpuMs))).reduce((sum, ms) => sum + ms, 0);
      const before = await usedBy();
      const { commands, cycles } = (await group.call(0, 'growth', 'cycleNames', parameters)) as NamesLog;
      const cpu = ((await usedBy()) - before) / cycles / field.floorCpuMs;
      await sleep(100);
      const each = await calls();
      const all = each.reduce((sum, one) => sum + one, 0);
      const clientsOf = await Promise.all(nodes.map((node) => node.call('CLIENT', 'LIST') as Promise<string>));
      const ours = clientsOf.flatMap((text) => text.split('\n')).filter((line) => line.includes('name=ioredisson'));
      return { commands, cpu, busiest: (Math.max(...each) / all) * count, connections: ours.length };
    } finally {
      group.kill();
      for (const node of nodes) node.disconnect();
      await cluster.stop();
    }
  },
};

/** All curves, in the order of the report. */
export const curves: readonly Curve[] = [
  waitersIn(1),
  waitersIn(4),
  waitersIn(16),
  heldLocks,
  clients,
  fairQueue,
  readHolds,
  groupValues,
  groupNested,
  groupReentered,
  masters,
];
