import { Redis } from 'ioredis';
import { monotonicMs, sleep } from '../harness/clock';
import { type ContentionLog, judgeContention } from '../harness/contention';
import { contentionTasks } from '../harness/contentionTasks';
import { type DrainLog, drainTasks } from '../harness/drainTasks';
import { type Plan } from '../harness/plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from '../harness/scenario';
import { ascending, median } from '../harness/statistics';
import { type Task, type TaskContext, textOf } from '../harness/task';
import { usageOf, usedEach } from '../harness/usage';
import { type WorkerGroup } from '../harness/WorkerGroup';
import { channelOf, LockScripts } from '../references/lockScripts';

const id = 'herd';
const processes = 16;
/** The holder is a process of its own, the last one of the group. */
const holder = processes;
/** Time for all waiters to be asleep before the lock is given free, in ms, and so many round trips. */
const fallAsleepMs = 100;
const fallAsleepRoundTrips = 6;

/** The connections of the perfect order, opened once per worker. */
interface Raw {
  readonly scripts: LockScripts;
  readonly subscriber: Redis;
}

async function rawOf({ options, memory }: TaskContext): Promise<Raw> {
  let raw = memory.get('raw') as Raw | undefined;
  if (raw === undefined) {
    raw = {
      scripts: await LockScripts.connect(options.url, defaultWatchdogMs),
      subscriber: new Redis(options.url),
    };
    memory.set('raw', raw);
  }
  return raw;
}

/**
 * Worker side. `hold`, `queue`, `release`, `drained`: a drain. `contend`: the floor's loop. `rawHold`, `rawQueue` and
 * `rawRelease`: a drain in perfect order. Each process hears every message, as it must, but only the one whose turn it
 * is attempts.
 */
export const tasks: Record<string, Task> = {
  ...drainTasks,
  contend: contentionTasks['contend']!,
  rawHold: async (context, parameters) => {
    const { scripts } = await rawOf(context);
    await scripts.attempt(textOf(parameters, 'name'), 'raw');
  },
  rawQueue: async (context, parameters) => {
    const { scripts, subscriber } = await rawOf(context);
    const name = textOf(parameters, 'name');
    const drain = { enteredAt: [] as number[], doneAt: 0, drained: 0, finished: Promise.resolve() as Promise<unknown> };
    let toPass = context.index;
    const turn = new Promise<void>((resolve) => {
      subscriber.on('message', function listen() {
        if (toPass-- > 0) return;
        subscriber.off('message', listen);
        resolve();
      });
    });
    await subscriber.subscribe(channelOf(name));
    const pass = async (): Promise<void> => {
      await turn;
      if ((await scripts.attempt(name, `raw:${context.index}`)) !== null) throw new Error(`${name} is held`);
      drain.enteredAt.push(monotonicMs());
      void subscriber.unsubscribe(channelOf(name));
      await scripts.release(name, channelOf(name), `raw:${context.index}`);
      drain.doneAt = monotonicMs();
      drain.drained += 1;
    };
    drain.finished = pass();
    context.memory.set('drain', drain);
  },
  rawRelease: async (context, parameters) => {
    const { scripts } = await rawOf(context);
    const name = textOf(parameters, 'name');
    const releasedAt = monotonicMs();
    await scripts.release(name, channelOf(name), 'raw');
    return releasedAt;
  },
};

/** @param hold, queue, release - the tasks that do so */
async function herds(group: WorkerGroup, plan: Plan, [hold, queue, release]: readonly [string, string, string]) {
  const gaps: number[] = [];
  const used = { serverCpuUs: 0, commands: 0 };
  let drained = 0;
  let complete = true;
  for (let herd = 0; herd < plan.herds && complete; herd += 1) {
    const name = freshKey(id);
    await group.call(holder, id, hold, { name });
    await group.callAll(id, queue, { name, waiters: 1 }, processes);
    await sleep(fallAsleepMs + fallAsleepRoundTrips * plan.distanceMs);
    const before = await usageOf(group, id);
    const releasedAt = (await group.call(holder, id, release, { name })) as number;
    const logs = (await group.callAll(id, 'drained', { limitMs: plan.drainLimitMs }, processes)) as DrainLog[];
    const { serverCpuUs, commands } = usedEach(before, await usageOf(group, id), 1);
    used.serverCpuUs += serverCpuUs;
    used.commands += commands;
    const inside = logs.reduce((sum, log) => sum + log.drained, 0);
    drained += inside;
    complete = inside === processes;
    const entries = ascending([releasedAt, ...logs.flatMap((log) => [...log.enteredAt])]);
    gaps.push(...entries.slice(1).map((at, index) => at - entries[index]!));
  }
  if (!complete) await group.restart();
  return {
    drained: drained / (processes * plan.herds),
    serverCpuUs: used.serverCpuUs / Math.max(1, drained),
    commands: used.commands / Math.max(1, drained),
    wakeUpMs: complete ? median(gaps) : plan.drainLimitMs,
    longestMs: complete ? Math.max(...gaps) : plan.drainLimitMs,
    tookMs: complete ? gaps.reduce((sum, gap) => sum + gap, 0) / plan.herds : plan.drainLimitMs,
  };
}

/** One process alone takes the lock and gives it back; then a herd in perfect order. */
async function measureReference(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const parameters = { name: freshKey(id), waiters: 1, ms: plan.hotKeyFloorMs, sectionMs: 0, startAt: monotonicMs() };
  const before = await usageOf(group, id);
  const log = (await group.call(0, id, 'contend', parameters)) as ContentionLog;
  const { acquisitions } = judgeContention([log]);
  const bare = usedEach(before, await usageOf(group, id), acquisitions);
  const ordered = await herds(group, plan, ['rawHold', 'rawQueue', 'rawRelease']);
  return {
    bareCpuUs: bare.serverCpuUs,
    bareMs: plan.hotKeyFloorMs / Math.max(1, acquisitions),
    orderedCpuUs: ordered.serverCpuUs,
    orderedMs: ordered.wakeUpMs,
    orderedTookMs: ordered.tookMs,
  };
}

/** What an unlock costs the server where many processes have a waiter each. */
export const scenario: Scenario = {
  id,
  title: 'A herd: one waiter in each of 16 processes',
  about:
    'Each of 16 processes has one waiter that sleeps on a held lock; from the moment it is given free each takes it once ' +
    'and gives it back, again and again with new names. Server CPU per acquisition, by that of a bare lock and unlock of ' +
    'the floor, and by that of a perfect order: everybody hears each message, but only one attempts. Times by its times.',
  metrics: [
    { id: 'serverCpu', label: 'server CPU / bare lock', unit: 'ratio', better: 'lower' },
    { id: 'order', label: 'server CPU / perfect order', unit: 'ratio', better: 'lower', charted: true },
    { id: 'commands', label: 'commands per acquisition', unit: 'commands', better: 'lower', charted: true },
    { id: 'wakeUp', label: 'p50 between two entries / perfect order', unit: 'ratio', better: 'lower', charted: true },
    { id: 'longest', label: 'longest between two entries / whole perfect order', unit: 'ratio', better: 'lower' },
    { id: 'time', label: 'time of all 16 / perfect order', unit: 'ratio', better: 'lower' },
    { id: 'drained', label: 'share that got in', unit: 'share', better: 'higher' },
    { id: 'floor', label: 'perfect order: server CPU / bare lock', unit: 'ratio', better: 'lower' },
  ],
  workers: processes + 1,
  freshWorkers: false,
  watchdogMs: () => defaultWatchdogMs,
  rounds: usualRounds,
  accepts: (contestant) => contestant.waits,
  measure: (group, plan) => herds(group, plan, ['hold', 'queue', 'release']),
  reference: { contestant: 'floor', workers: processes + 1, steady: 'bareCpuUs', measure: measureReference },
  derive: (sample, reference) => ({
    serverCpu: valueOf(sample, 'serverCpuUs') / valueOf(reference, 'bareCpuUs'),
    order: valueOf(sample, 'serverCpuUs') / valueOf(reference, 'orderedCpuUs'),
    commands: valueOf(sample, 'commands'),
    wakeUp: valueOf(sample, 'wakeUpMs') / valueOf(reference, 'orderedMs'),
    longest: valueOf(sample, 'longestMs') / valueOf(reference, 'orderedTookMs'),
    time: valueOf(sample, 'tookMs') / valueOf(reference, 'orderedTookMs'),
    drained: valueOf(sample, 'drained'),
    floor: valueOf(reference, 'orderedCpuUs') / valueOf(reference, 'bareCpuUs'),
  }),
};
