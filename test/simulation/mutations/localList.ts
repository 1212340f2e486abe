import type { ListedMutation } from './list';

const TESTS = 'test/unit/locks/localHandOver.test.ts';
const WRITERS = 'test/unit/locks/writers.test.ts';
const GROUP_TESTS = 'test/unit/locks/groupHandOver.test.ts';

/** Ways to break `localHandOver`, and the hand-over of writers. */
export const LOCAL_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'a lock is passed on whatever is left of its lease',
    by: { file: TESTS, grep: 'with less than 500 ms left' },
    edits: [
      { file: 'locks/core/handOver.ts', search: 'return deadline - now >= MIN_LEASE_MS && now', replace: 'return now' },
      { file: 'locks/core/handOver.ts', search: ' || heir.leaseMs < MIN_LEASE_MS', replace: '' },
    ],
  },
  {
    name: 'a lock is passed on however long ago Redis confirmed it',
    by: { file: TESTS, grep: 'more than 25 ms ago' },
    edits: [{ file: 'locks/core/handOver.ts', search: ' && now - confirmedAt <= maxAgeMs', replace: '' }],
  },
  {
    name: 'an unlock resolves by the command before the one that covers it',
    by: { file: TESTS, grep: 'not for the one before' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: '    this.#settle(HANDED, this.#covered);\n    const holder',
        replace: '    this.#settle(HANDED);\n    const holder',
      },
    ],
  },
  {
    name: 'a thread comes twice: the lock goes in a circle',
    by: { file: TESTS, grep: 'nothing goes in a circle' },
    edits: [
      { file: 'locks/core/handOver.ts', search: "  if (lane.mustWait('heir')) return undefined;\n", replace: '' },
      { file: 'locks/core/handOver.ts', search: ' || owner === from.owner', replace: '' },
      {
        file: 'locks/core/LockTarget.ts',
        search: " ?? this.ownership.lane.turn('attempt')",
        replace: '',
      },
    ],
  },
  {
    name: 'a lost answer gives the lock back to the former owner',
    by: { file: TESTS, grep: 'nobody takes it back' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: 'answer?.reject(error);\n    if (!endsUndo',
        replace: 'answer?.reject(error);\n    this.#settle(HANDED, this.#covered);\n    if (!endsUndo',
      },
    ],
  },
  {
    name: 'a release that failed is undone by the name of a thread of the relay',
    by: { file: TESTS, grep: 'nobody takes it back' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: 'if (!endsUndo(error) && !record.cancelled)',
        replace: 'if (!endsUndo(error))',
      },
      { file: 'locks/core/handOver.ts', search: '    sendRecord.cancelled = true;\n', replace: '' },
    ],
  },
  {
    name: 'a release names the thread that gives the lock back, not the one on record',
    exploring: { scenario: 'local', kind: 'hole-100ms' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: 'turns, { ownership: this.#wire, ...FREE',
        replace: 'turns, { ownership: this.#parts.at(-1)!.ownership, ...FREE',
      },
    ],
  },
  {
    name: 'a heir counts on its own lease before Redis knows it',
    by: { file: TESTS, grep: 'until then that of its predecessor counts' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: 'Math.min(deadline, ownership.lane.relay?.deadline ?? Infinity)',
        replace: 'deadline',
      },
    ],
  },
  {
    name: 'a shorter lease that is on its way does not count',
    by: { file: TESTS, grep: 'as soon as that is on its way' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: '    this.deadline = Math.min(this.deadline, confirmedUntil(sentAt, leaseMs));\n',
        replace: '',
      },
    ],
  },
  {
    name: 'whoever gives up keeps what it has just been given',
    by: { file: TESTS, grep: 'gives up as the last one' },
    edits: [
      { file: 'locks/core/handOver.ts', search: 'if (this.#holder !== heir) return false;', replace: 'return false;' },
      {
        file: 'locks/core/handOver.ts',
        search: 'if (holder?.ownership.holds.length === 0 && !holder.ownership.lane.claimed) {',
        replace: 'if (holder !== undefined && this.#pauseMs < 0) {',
      },
    ],
  },
  {
    name: 'a check after a reconnect looks for a holder that Redis does not know yet',
    by: { file: TESTS, grep: 'neither a check after a reconnect' },
    edits: [{ file: 'watchdog/Watchdog.ts', search: ' && lane.relay === undefined', replace: '' }],
  },
  {
    name: 'a shutdown leaves what was given back',
    by: { file: TESTS, grep: 'takes back what was given back' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: 'if (this.#holder === undefined) void this.#releaseBoth();',
        replace: '',
      },
    ],
  },
  {
    name: 'a lock that was taken away is not lost for the holder of the moment',
    by: { file: TESTS, grep: 'the lock was taken away' },
    edits: [
      { file: 'locks/core/handOver.ts', search: '      if (turn === undefined) lose();\n      else', replace: '' },
    ],
  },
  {
    name: 'values are handed over past those who wait longer, for others, too',
    by: { file: GROUP_TESTS, grep: 'passes nobody who waits for longer' },
    edits: [{ file: 'locks/core/handOver.ts', search: 'passesOthers(queue) ? undefined : heir', replace: 'heir' }],
  },
  {
    name: 'values are handed over by a thread that has some of them in another set',
    by: { file: GROUP_TESTS, grep: 'another set with some of the values' },
    edits: [
      { file: 'locks/core/handOver.ts', search: 'if (overlaps || from.overlaps) return undefined;', replace: '' },
    ],
  },
  {
    name: 'a thread that has some of the values waits behind those who wait for it',
    by: { file: GROUP_TESTS, grep: 'not wait behind those who wait for it' },
    edits: [
      {
        file: 'locks/core/LockTarget.ts',
        search: 'this.ownership.live.length > 0 || this.ownership.overlapping?',
        replace: 'this.ownership.live.length > 0 || [this.ownership].slice(1)?',
      },
    ],
  },
  {
    name: 'values are handed over although some of them are lost',
    by: { file: 'test/redis/scripts/groupLock.test.ts', grep: 'hands over none, and frees the others' },
    edits: [
      {
        file: 'kinds/group.ts',
        search: 'forgetHolder(name, value, owner)\n  if #gone > 0',
        replace: 'forgetHolder(name, value, owner)\n  if #gone < 0',
      },
    ],
  },
  {
    name: 'a part of the values that the heir has got is forgotten',
    by: { file: GROUP_TESTS, grep: 'finds a part with the heir' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: ' && reply.gone) undo(',
        replace: ' && reply.gone && sent.sends < 0) undo(',
      },
    ],
  },
  {
    name: 'whoever gives way attempts before those who want other values',
    by: { file: 'test/unit/waiters/Subscriptions.test.ts', grep: 'gives way attempts behind' },
    edits: [
      {
        file: 'waiters/Subscription.ts',
        search: 'if (queues.length > 1) queues.sort',
        replace: 'if (queues.length < 0) queues.sort',
      },
    ],
  },
  {
    name: 'callers who are told together attempt each on its own',
    by: { file: TESTS, grep: 'ask again send one attempt' },
    edits: [
      { file: 'locks/core/handOver.ts', search: '  afterCallers(() => afterCallers(work));', replace: '  work();' },
    ],
  },
  {
    name: 'a former writer whom Redis has on record is let in as a reader',
    by: { file: WRITERS, grep: 'that is sent before the command runs' },
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "count > 1 || writer !== undefined ? owner + WRITER : ''",
        replace: 'owner + WRITER',
      },
    ],
  },
  {
    name: 'a thread whose hand-over may still arrive is let in as a reader under its write lock',
    by: { file: WRITERS, grep: 'does not read beside the heir' },
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "count > 1 || writer !== undefined ? owner + WRITER : ''",
        replace: 'owner + WRITER',
      },
    ],
  },
  {
    name: 'a heir that reads does not wait until Redis knows its write lock',
    by: { file: WRITERS, grep: 'the heir reads under its own lock' },
    edits: [
      {
        file: 'locks/core/LockTarget.ts',
        search: 'underOwnWrite ?? ',
        replace: '',
      },
    ],
  },
  {
    name: 'writers pass the lock on past the readers of their process',
    by: { file: WRITERS, grep: 'it goes first' },
    edits: [{ file: 'waiters/WaitQueue.ts', search: ' && !this.readersSleep ?', replace: ' ?' }],
  },
  {
    name: 'a writer that reads as well hands over: two are inside',
    by: { file: WRITERS, grep: 'its unlock is the downgrade' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: 'if (reads(from) ||',
        replace: 'if (',
      },
    ],
  },
  {
    name: 'a reader hands the lock to a writer',
    by: { file: WRITERS, grep: 'there may be others' },
    edits: [{ file: 'locks/core/handOver.ts', search: "from.kind === 'read' || ", replace: '' }],
  },
  {
    name: 'a writer that has read begins the count of its turn anew',
    by: { file: WRITERS, grep: '64 times in a row' },
    edits: [
      {
        file: 'locks/core/handOver.ts',
        search: '!mayHandOver || writes',
        replace: '!mayHandOver',
      },
    ],
  },
];
