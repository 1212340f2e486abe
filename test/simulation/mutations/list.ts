import type { Mutation } from '../bundle';
import { CLUSTER_MUTATIONS } from './clusterList';
import { DEFECT_MUTATIONS } from './defectList';
import { HOLD_MUTATIONS } from './holdList';
import { LOCAL_MUTATIONS } from './localList';
import { SURVIVOR_MUTATIONS } from './survivorList';
import { TOKEN_MUTATIONS } from './tokenList';
import type { GivenProfile } from '../workload/clusterWorlds';
import type { Profile } from '../workload/World';

/** A test of mocha. */
export interface NoticingTest {
  /** From the root of the repository. */
  readonly file: string;
  /** A part of its title. */
  readonly grep: string;
}

/** A mutation that seeds of the simulation notice. */
export interface SimulatedMutation extends Mutation {
  /** So many seeds notice it, from the first on. A few times what they took when it was written. */
  readonly within: number;
  /** What the worlds of these seeds have in common. @default nothing: they are those of the simulation itself */
  readonly profile?: GivenProfile;
  readonly by?: undefined;
  readonly exploring?: undefined;
}

/** A mutation that an exploration notices: one fault at each step of a scenario. */
export interface ExploredMutation extends Mutation {
  readonly exploring: {
    /** The scenarios whose names begin so. */
    readonly scenario: string;
    /** The faults whose names contain this. */
    readonly kind: string;
  };
  readonly by?: undefined;
}

/** A mutation that worlds do not show, or too rarely: a test notices it. */
export interface TestedMutation extends Mutation {
  readonly by: NoticingTest;
  readonly exploring?: undefined;
}

/** A mutation, and what it takes to notice it. */
export type ListedMutation = SimulatedMutation | TestedMutation | ExploredMutation;

/** Few callers and far away: whoever is not woken by a message is not woken by the next one either. */
const QUIET: Partial<Profile> = {
  javaApps: 0,
  servers: 1,
  apps: 2,
  tasks: 1,
  thinkMs: 100,
  namesPerKind: 1,
  synchronizers: 0,
  multis: 0,
  latencyMs: 30,
  faults: [],
};
/** Long leases, so that nothing expires before it is noticed. */
const LONG_LEASES: Profile['settings'] = {
  lockWatchdogTimeout: 30_000,
  maxHandOvers: 64,
  fairLockWaitTimeout: 60_000,
  lockWatchdogBatchSize: 100,
};
const SHORT_LEASES: Profile['settings'] = { ...LONG_LEASES, lockWatchdogTimeout: 1_500 };
/** Several waiters of one fair lock, most of the time. */
const QUEUED: Partial<Profile> = {
  javaApps: 0,
  servers: 1,
  apps: 3,
  tasks: 2,
  thinkMs: 20,
  kinds: ['fair'],
  namesPerKind: 1,
  synchronizers: 0,
  multis: 0,
  latencyMs: 1,
  faults: [],
  settings: LONG_LEASES,
};
/** One process of ours, and two of Java, which wait for what it gives back. */
const BESIDE_JAVA: Partial<Profile> = { ...QUIET, apps: 3, javaApps: 2, settings: LONG_LEASES };
/** Connections that break with a message, which is then lost. Their clients have new ones at once. */
const CUT: Partial<Profile> = { faults: ['cut'], calmMs: 2_000, healMs: 0, settings: LONG_LEASES };
/** Locks of groups only. */
const GROUPS: Partial<Profile> = { ...QUIET, tasks: 2, latencyMs: 5, groups: 100, settings: LONG_LEASES };
/** Masters that go on beside their successors. */
const REPLACED: Partial<Profile> = {
  ...QUIET,
  replicas: 2,
  sentinels: 3,
  kinds: ['lock'],
  apps: 3,
  latencyMs: 1,
  faults: ['server', 'sentinel'],
  calmMs: 2_000,
};
/** Connections that break, long enough apart that what they leave behind is seen. */
const BROKEN: Partial<Profile> = {
  javaApps: 0,
  servers: 1,
  apps: 3,
  tasks: 2,
  thinkMs: 2_000,
  namesPerKind: 2,
  synchronizers: 0,
  multis: 0,
  faults: ['network'],
  calmMs: 18_000,
  settings: LONG_LEASES,
};
/** Servers that refuse renewals for longer than a lease. */
const REFUSING: Partial<Profile> = {
  javaApps: 0,
  servers: 1,
  synchronizers: 0,
  multis: 0,
  longHolds: 50,
  faults: ['disk'],
  calmMs: 2_000,
  settings: SHORT_LEASES,
};
/** Servers that lose everything, under locks that are held for longer than the watchdog's time. */
const FORGETFUL: Partial<Profile> = {
  javaApps: 0,
  servers: 1,
  kinds: ['lock'],
  synchronizers: 0,
  multis: 0,
  longHolds: 50,
  faults: ['server'],
  calmMs: 2_000,
  settings: SHORT_LEASES,
};

/** Ways to break lib, each of which the simulation must notice. `search` is text that its file has once. */
export const MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'exclusion broken: whoever asks gets the lock',
    within: 40,
    edits: [
      {
        file: 'kinds/reentrant.ts',
        search: "if not held then return redis.call('pttl', name) end",
        replace: "if not held then redis.call('hset', name, owner, 1) return nil end",
      },
    ],
  },
  {
    name: 'release without asking for the owner',
    within: 10,
    edits: [
      {
        file: 'kinds/reentrant.ts',
        search: 'if not held then return nil end\nif left',
        replace: 'if not held then held = 1 end\nif left',
      },
    ],
  },
  {
    // Counting up blindly when acquiring is no mutation that shows: a count that is too high is set right by the
    // rollback and by every release.
    name: 'a release takes one hold off, instead of saying how many are left',
    within: 40,
    edits: [
      {
        file: 'kinds/reentrant.ts',
        search: "if left ~= '0' then",
        replace: 'left = held - 1\nif left > 0 then',
      },
    ],
  },
  {
    name: 'no undo',
    within: 40,
    edits: [
      { file: 'acquire/Rollback.ts', search: 'this.#entries.add(entry);', replace: 'leftover.ended?.(); return;' },
    ],
  },
  {
    name: 'an undo on another connection counts as done',
    within: 40,
    profile: { ...BROKEN, kinds: ['fair'] },
    edits: [
      {
        file: 'acquire/Rollback.ts',
        search: 'if (found || !mayComeLate(entry, ...records)) return',
        replace: 'if (leftover.sent) return',
      },
    ],
  },
  {
    name: 'a wait that ends forgets the attempt under way',
    within: 10,
    edits: [{ file: 'acquire/Acquisition.ts', search: 'if (this.repeated) {', replace: 'if (false) {' }],
  },
  {
    name: 'a hand-over does not compare names',
    within: 10,
    edits: [
      {
        file: 'waiters/Subscriptions.ts',
        search: '?.queues.get(waitKey);',
        replace: '?.queues.values().next().value;',
      },
      {
        file: 'waiters/Subscriptions.ts',
        search: 'let queue = subscription.queues.get(waitKey);',
        replace: 'let queue = subscription.queues.values().next().value as WaitQueue<H> | undefined;',
      },
      { file: 'locks/core/handOver.ts', search: 'waitKey !== from.waitKey || ', replace: '' },
    ],
  },
  {
    name: 'hand-overs in a row shorten the lease by a second each',
    by: { file: 'test/unit/locks/handOver.test.ts', grep: 'each want it for a little less' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: 'if (turns.toldUntil(deadline) - now',
        replace: 'if (deadline - now',
      },
    ],
  },
  {
    name: 'the deadline counts from the reply',
    within: 10,
    edits: [
      {
        file: 'acquire/Acquisition.ts',
        search: 'confirmedUntil(sentAt, leaseMs)',
        replace: 'confirmedUntil(performance.now(), leaseMs)',
      },
    ],
  },
  {
    name: 'no second attempt after subscribing',
    within: 40,
    profile: { ...QUIET, kinds: ['lock'] },
    edits: [
      {
        file: 'acquire/acquireWithin.ts',
        search: 'if (listening !== undefined) await orInterrupted(listening, limit, true);',
        replace: `if (listening !== undefined) {
          await orInterrupted(listening, limit, true);
          if (limit?.over !== true) wake = (await orInterrupted(wait.sleep(retryInMs), limit, true)) as never;
        }`,
      },
    ],
  },
  {
    name: 'messages wake nobody',
    within: 10,
    profile: { ...QUIET, kinds: ['lock'], settings: LONG_LEASES },
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'const isTurn = this.turns.message();',
        replace: 'const isTurn = this.turns.message() && performance.now() < 0;',
      },
    ],
  },
  {
    name: 'readers are not woken by messages',
    within: 40,
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'for (const waiter of this.#shared!) waiter.wake();\n    if (isTurn',
        replace: 'if (isTurn',
      },
    ],
  },
  {
    name: 'nobody is woken when the connection is back',
    within: 10,
    profile: { ...QUIET, kinds: ['lock'], thinkMs: 5_000, latencyMs: 1, longHolds: 30, ...CUT },
    edits: [
      {
        file: 'waiters/Subscriptions.ts',
        search: 'for (const queue of this.#queues(channels)) queue.wakeAll();',
        replace: '',
      },
    ],
  },
  {
    name: 'no subscription after a reconnect',
    within: 10,
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'if (channels.length > 0) void this.#send(channels)',
        replace: 'if (channels.length > 1e9) void this.#send(channels)',
      },
    ],
  },
  {
    name: 'a head that leaves hands no wake-up on',
    within: 40,
    profile: { ...QUIET, kinds: ['lock'], tasks: 3, latencyMs: 5, settings: LONG_LEASES },
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'this.#succeed(next, waiter, awake, leaseMs);\n      }\n    } else',
        replace: 'void awake;\n      }\n    } else',
      },
    ],
  },
  {
    name: 'no renewal',
    within: 10,
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'await batch[0]!.renewal.renew(batch, leaseMs);',
        replace: 'await Promise.resolve(batch.map(() => true));',
      },
    ],
  },
  {
    name: 'what was released is renewed on',
    within: 10,
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search:
          'this.#deadlines.delete(ownership);\n    this.#doubted.delete(ownership);\n    this.#renewals.place(ownership, 0);',
        replace: 'ownership.deadline = Infinity; this.#deadlines.place(ownership);',
      },
      { file: 'watchdog/Watchdog.ts', search: 'return ownership.watchdogMs > 0;', replace: 'return true;' },
    ],
  },
  {
    name: 'a failed renewal counts as done',
    within: 20,
    profile: REFUSING,
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'throw failure;',
        replace: 'for (const one of batch) { one.deadline = sentAt + watchdogMs; this.#deadlines.place(one); }',
      },
    ],
  },
  {
    name: 'a renewal that finds the lock gone says nothing',
    within: 10,
    profile: FORGETFUL,
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'const found = alive[i];',
        replace: 'const found = alive[i] !== undefined;',
      },
    ],
  },
  {
    name: 'deadlines pass unnoticed for a while',
    within: 10,
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'if (one === undefined || one.deadline > now) return;',
        replace: 'now -= 400; if (one === undefined || one.deadline > now) return;',
      },
    ],
  },
  {
    name: 'the watchdog renews what somebody else holds',
    within: 10,
    profile: FORGETFUL,
    edits: [
      {
        file: 'kinds/reentrant.ts',
        search: "if redis.pcall('hexists', KEYS[i], ARGV[moreArgs + i]) == 1 then",
        replace: "if redis.call('exists', KEYS[i]) == 1 then",
      },
    ],
  },
  {
    // A message that is only lost is no mutation that shows: the client looks 300 ms later whether the head has come.
    name: 'a fair lock is given back without a message, and nobody looks',
    within: 80,
    profile: { ...QUIET, kinds: ['fair'] },
    edits: [
      {
        file: 'kinds/fair.ts',
        search: "return {wake(q), redis.call('llen', queue)}",
        replace: 'return {1, 0}',
      },
    ],
  },
  {
    name: 'a fair waiter that leaves stays in the queue',
    within: 10,
    profile: { javaApps: 0, kinds: ['fair'], synchronizers: 0, multis: 0, faults: [] },
    edits: [
      {
        file: 'kinds/fair.ts',
        search: "redis.call('lrem', queue, 0, owner)\nif q.claimed",
        replace: 'if q.claimed',
      },
    ],
  },
  {
    name: 'a fair waiter takes a free lock although another one is the head',
    within: 10,
    profile: QUEUED,
    edits: [
      {
        file: 'kinds/fairQueue.ts',
        search: 'if ttl == -2 and (not head or head == owner) then',
        replace: 'if ttl == -2 then',
      },
    ],
  },
  {
    name: 'tryLock() of a fair lock overtakes those who wait',
    within: 10,
    profile: QUEUED,
    edits: [
      {
        file: 'kinds/fairQueue.ts',
        search: '  return lua`${FUNCTIONS}${reenter}${QUEUE}${STATE}${ENTER_OR_REENTER}',
        replace:
          '  return lua`${FUNCTIONS}${reenter}${QUEUE}${STATE}\n' +
          'if ttl == -2 then return enter(name, owner, lease, count) end${ENTER_OR_REENTER}',
      },
    ],
  },
  {
    name: 'a fair waiter that attempts again goes to the end of the queue',
    within: 10,
    profile: QUEUED,
    edits: [
      {
        file: 'kinds/fairQueue.ts',
        search: 'if score and not held then score = refresh',
        replace:
          "if score and not held then redis.call('lrem', queue, 0, owner) redis.call('rpush', queue, owner) score = refresh",
      },
    ],
  },
  {
    name: 'a fair waiter that waits for longer than fairLockWaitTimeout loses its place',
    within: 10,
    profile: { ...QUEUED, longHolds: 50, settings: { ...SHORT_LEASES, fairLockWaitTimeout: 5_000 } },
    edits: [
      {
        file: 'kinds/fairQueue.ts',
        search: 'if late <= waitMs / 2 then return score end',
        replace: 'if late < 1e9 then return score end',
      },
    ],
  },
  {
    name: 'a read lock is given back without a message',
    within: 80,
    profile: { ...QUIET, kinds: ['read', 'write'] },
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "redis.call('del', name)\nreturn tellReleased(publish, channel, message)",
        replace: "redis.call('del', name)\nreturn 1",
      },
    ],
  },
  {
    name: 'nobody is told that a read lock ends much sooner',
    within: 40,
    profile: { ...QUIET, apps: 3, tasks: 2, kinds: ['read', 'write'], longHolds: 60, settings: LONG_LEASES },
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: 'if shortenLease(name, longest) then tell(publish, channel, message) end',
        replace: 'shortenLease(name, longest)',
      },
    ],
  },
  {
    name: 'a release of permits without an answer is sent again',
    within: 40,
    profile: { ...BROKEN, synchronizers: 100, thinkMs: 20, calmMs: 2_000 },
    edits: [
      {
        file: 'kinds/semaphore.ts',
        search: "args: ['permits', 'existing', 'publish'],",
        replace: "args: ['permits', 'existing', 'publish'], resend: 'connection',",
      },
    ],
  },
  {
    name: 'readers come in beside a writer',
    within: 40,
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "if mode == 'write' and redis.call('hexists', name, writer) == 0 then return ttl end",
        replace: '',
      },
    ],
  },
  {
    name: 'a reader that leaves takes the lock away from the others',
    within: 40,
    edits: [{ file: 'kinds/readWrite.ts', search: "if redis.call('hlen', name) > 1 then", replace: 'if false then' }],
  },
  {
    name: 'of the values of a group only the first is looked at',
    within: 10,
    profile: GROUPS,
    edits: [
      {
        file: 'kinds/group.ts',
        search: 'if holders[i] and holders[i] ~= owner and times[i]',
        replace: 'if i == at + 2 and holders[i] and holders[i] ~= owner and times[i]',
      },
    ],
  },
  {
    name: 'values of a group are given back without a message',
    within: 10,
    profile: GROUPS,
    edits: [
      {
        file: 'kinds/group.ts',
        search: 'if freed or shorter then receivers',
        replace: 'if shorter then receivers',
      },
    ],
  },
  {
    name: 'no replica confirms acquisitions',
    within: 10,
    profile: REPLACED,
    edits: [
      {
        file: 'config/builder/buildSettings.ts',
        search: 'checkLockSyncedSlaves: true,',
        replace: 'checkLockSyncedSlaves: false,',
      },
    ],
  },
  {
    name: 'a hand-over takes no token',
    within: 10,
    edits: [
      {
        file: 'kinds/fenced.ts',
        search: "redis.call('incr', token)\n-- the heir",
        replace: '-- the heir',
      },
    ],
  },
  {
    name: 'a failed release is not tried again',
    within: 40,
    profile: { javaApps: 0, kinds: ['lock'], synchronizers: 0, multis: 0, faults: ['disk'], settings: LONG_LEASES },
    edits: [
      {
        file: 'locks/core/LockEngine.ts',
        search: 'this.context.ownerships.mayRemain(ownership, hold);\n',
        replace: 'return;\n',
      },
    ],
  },
  {
    name: 'a closed client leaves its heartbeat',
    within: 10,
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'this.#heartbeat.stop();\n    for',
        replace: 'for',
      },
    ],
  },
  {
    name: 'a lock is given back without a message to Java',
    within: 20,
    profile: { ...BESIDE_JAVA, kinds: ['lock'] },
    edits: [
      {
        file: 'kinds/reentrant.ts',
        search: "redis.call('del', name)\nreturn tellReleased(publish, channel, message)",
        replace: "redis.call('del', name)\nreturn 1",
      },
    ],
  },
  {
    name: 'a write lock is given back without a message to Java',
    within: 80,
    profile: { ...BESIDE_JAVA, tasks: 4, kinds: ['read', 'write'] },
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "redis.call('del', name)\nend\nreturn tellReleased(publish, channel, message)",
        replace: "redis.call('del', name)\nend\nreturn 1",
      },
    ],
  },
  {
    name: 'a fair lock is given back without a message to Java, and nobody looks',
    within: 80,
    profile: { ...BESIDE_JAVA, kinds: ['fair'] },
    edits: [
      {
        file: 'kinds/fair.ts',
        search: "return {wake(q), redis.call('llen', queue)}",
        replace: 'return {1, 0}',
      },
    ],
  },
  {
    name: 'a failed release beside Java is not tried again',
    within: 100,
    profile: { ...BESIDE_JAVA, kinds: ['write'], faults: ['disk'] },
    edits: [
      {
        file: 'locks/core/LockEngine.ts',
        search: 'this.context.ownerships.mayRemain(ownership, hold);\n',
        replace: 'return;\n',
      },
    ],
  },
  ...CLUSTER_MUTATIONS,
  ...DEFECT_MUTATIONS,
  ...HOLD_MUTATIONS,
  ...LOCAL_MUTATIONS,
  ...SURVIVOR_MUTATIONS,
  ...TOKEN_MUTATIONS,
];
