import type { Mutation } from '../bundle';

/** Ways to break lib, each of which the simulation must notice. `search` is text that its file has once. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'exclusion broken: whoever asks gets the lock',
    edits: [
      {
        file: 'locks/kinds/reentrantScripts.ts',
        search: "if not held then return redis.call('pttl', name) end",
        replace: "if not held then redis.call('hset', name, owner, 1) return nil end",
      },
    ],
  },
  {
    name: 'release without asking for the owner',
    edits: [
      {
        file: 'locks/kinds/reentrantScripts.ts',
        search: 'if not held then return nil end\nlocal keep',
        replace: 'if not held then held = 1 end\nlocal keep',
      },
    ],
  },
  {
    name: 'blind re-entry counts',
    edits: [{ file: 'locks/kinds/reentrantScripts.ts', search: 'if held < wanted then', replace: 'if true then' }],
  },
  {
    name: 'no undo',
    edits: [{ file: 'wait/Rollback.ts', search: 'this.#entries.add(entry);', replace: 'leftover.ended(); return;' }],
  },
  {
    name: 'an undo on another connection counts as done',
    edits: [
      {
        file: 'locks/core/rollback.ts',
        search: 'if (!doubtful || behind) return true;',
        replace: 'if (sent) return true;',
      },
    ],
  },
  {
    name: 'a wait that ends forgets the attempt under way',
    edits: [{ file: 'locks/core/Acquisition.ts', search: 'if (!this.repeated) return;', replace: 'return;' }],
  },
  {
    name: 'a hand-over does not compare names',
    edits: [
      { file: 'waiters/Subscriptions.ts', search: 'if (queue.rawName === rawName && (rule', replace: 'if ((rule' },
      { file: 'locks/core/handOver.ts', search: 'heir.rawName !== request.rawName || ', replace: '' },
    ],
  },
  {
    name: 'the deadline counts from the reply',
    edits: [
      {
        file: 'locks/core/Acquisition.ts',
        search: 'confirmedUntil(sentAt, this.leaseMs)',
        replace: 'confirmedUntil(now, this.leaseMs)',
      },
    ],
  },
  {
    name: 'no second attempt after subscribing',
    edits: [
      {
        file: 'wait/acquireWithin.ts',
        search: 'if (listening !== undefined) await orInterrupted(listening, limit);',
        replace: `if (listening !== undefined) {
          await orInterrupted(listening, limit);
          if (limit?.over !== true) wake = (await orInterrupted(wait.sleep(retryInMs), limit)) as never;
        }`,
      },
    ],
  },
  {
    name: 'messages wake nobody',
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'if (this.#fairness?.message() !== false) this.#head?.wake();',
        replace: '',
      },
    ],
  },
  {
    name: 'readers are not woken by messages',
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'for (const waiter of this.#shared ?? []) waiter.wake();\n    if (this.#fairness',
        replace: 'if (this.#fairness',
      },
    ],
  },
  {
    name: 'nobody is woken when the connection is back',
    edits: [
      {
        file: 'waiters/Subscriptions.ts',
        search: 'this.#outage = undefined;\n    this.#wakeAll();',
        replace: 'this.#outage = undefined;',
      },
    ],
  },
  {
    name: 'no subscription after a reconnect',
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'if (this.#wanted.size > 0) void this.#send(',
        replace: 'if (this.#wanted.size > 1e9) void this.#send(',
      },
    ],
  },
  {
    name: 'a head that leaves hands no wake-up on',
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'this.#succeed(waiter, awake);\n    } else',
        replace: 'void awake; } else',
      },
    ],
  },
  {
    name: 'no renewal',
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'await batch[0]!.renewal.renew(batch, watchdogMs);',
        replace: 'await Promise.resolve(batch.map(() => true));',
      },
    ],
  },
  {
    name: 'a failed renewal counts as done',
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'ownership.renewalFailed = failure;',
        replace: 'ownership.deadline = sentAt + watchdogMs; this.#owned.place(ownership);',
      },
    ],
  },
  {
    name: 'a renewal that finds the lock gone says nothing',
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'if (alive[i] === true) this.#renewed(',
        replace: 'if (alive[i] !== undefined) this.#renewed(',
      },
    ],
  },
  {
    name: 'deadlines pass unnoticed for a while',
    edits: [
      {
        file: 'watchdog/Watchdog.ts',
        search: 'if (ownership === undefined || ownership.deadline > now) return;',
        replace: 'now -= 400; if (ownership === undefined || ownership.deadline > now) return;',
      },
    ],
  },
  {
    name: 'the watchdog renews what somebody else holds',
    edits: [
      {
        file: 'locks/kinds/reentrantScripts.ts',
        search: "if redis.pcall('hexists', KEYS[i], ARGV[moreArgs + i]) == 1 then",
        replace: "if redis.call('exists', KEYS[i]) == 1 then",
      },
    ],
  },
  {
    name: 'a fair lock is given back without a message',
    edits: [
      {
        file: 'locks/kinds/fairScripts.ts',
        search: "return {wake(q), redis.call('llen', queue)}",
        replace: "return {1, redis.call('llen', queue)}",
      },
    ],
  },
  {
    name: 'a fair waiter that leaves stays in the queue',
    edits: [
      {
        file: 'locks/kinds/fairScripts.ts',
        search: "local found = redis.call('lrem', queue, 0, owner)",
        replace: 'local found = 1',
      },
    ],
  },
  {
    name: 'a read lock is given back without a message',
    edits: [
      {
        file: 'locks/kinds/read.ts',
        search: "redis.call('del', name)\nreturn tellReleased(publish, channel, message)",
        replace: "redis.call('del', name)\nreturn 1",
      },
    ],
  },
  {
    name: 'readers come in beside a writer',
    edits: [
      {
        file: 'locks/kinds/read.ts',
        search: "if mode == 'write' and redis.call('hexists', name, writer) == 0 then return ttl end",
        replace: '',
      },
    ],
  },
  {
    name: 'a reader that leaves takes the lock away from the others',
    edits: [{ file: 'locks/kinds/read.ts', search: "if redis.call('hlen', name) > 1 then", replace: 'if false then' }],
  },
  {
    name: 'a hand-over takes no token',
    edits: [
      {
        file: 'locks/kinds/fenced.ts',
        search: "redis.call('incr', token)\n-- the heir",
        replace: '-- the heir',
      },
    ],
  },
  {
    name: 'a failed release is not tried again',
    edits: [
      {
        file: 'locks/core/rollback.ts',
        search: 'context.ownerships.mayRemain(ownership, hold);\n',
        replace: 'return;\n',
      },
    ],
  },
  {
    name: 'a closed client leaves its heartbeat',
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'clearInterval(this.#heartbeat);\n    for',
        replace: 'for',
      },
    ],
  },
];
