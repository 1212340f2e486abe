import type { Mutation } from '../bundle';
import type { ListedMutation } from './list';

const unit = (file: string, grep: string): { by: { file: string; grep: string } } => ({
  by: { file: `test/unit/${file}.test.ts`, grep },
});
const onServer = (file: string, grep: string): { by: { file: string; grep: string } } => ({
  by: { file: `test/redis/${file}.test.ts`, grep },
});
const edit = (file: string, search: string, replace: string): Pick<Mutation, 'edits'> => ({
  edits: [{ file: `${file}.ts`, search, replace }],
});

const HEIR_GONE = 'is undone when its heir has gone, who has sent nothing';
const FULL = onServer('scripts/fullServer', 'what gives something back');

/** Ways to break lib that no test noticed once. Each has a test of a few seconds now. */
export const SURVIVOR_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'an heir that has sent nothing undoes no hand-over when it goes',
    ...unit('locks/handOver', HEIR_GONE),
    ...edit('acquire/Acquisition', '    this.#handed = true;\n', ''),
  },
  {
    name: 'a hand-over whose answer was lost is not undone for an heir that goes',
    ...unit('locks/handOver', HEIR_GONE),
    ...edit('acquire/Acquisition', 'if (mayHaveRun(error)) this.sendRecord.onManyConnections = true;', ''),
  },
  {
    name: 'a hand-over under way counts as failed if its answer is lost',
    ...unit('locks/handOver', HEIR_GONE),
    ...edit('locks/core/LockTarget', '.catch(() => true)', '.catch(() => false)'),
  },
  {
    name: 'unlock gives back a hold that is left to expire',
    ...unit('watchdog/letExpire', 'is not what unlock of its thread gives back'),
    ...edit('watchdog/Ownership', '  if (expires === true) return 1;\n', ''),
  },
  {
    name: 'what a search finds is undone, although it is held again',
    ...unit('acquire/Rollback', 'leaves alone what is taken again while it is looked for'),
    ...edit('acquire/Rollback', 'found[i] === true && entry.leftover.unwanted !== false', 'found[i] === true'),
  },
  {
    name: 'a renewal that is answered after unlock and another lock counts',
    ...unit('watchdog/failures', 'says nothing of it'),
    ...edit('watchdog/Watchdog', 'ownership.holds.length === 0 || ownership.holds[0]!.since > sentAt', 'false'),
  },
  {
    name: 'a renewal that fails after unlock and another lock counts',
    ...unit('watchdog/failures', 'says nothing of it'),
    ...edit('watchdog/Watchdog', 'batch.filter(({ renewing }) => renewing === batch)', 'batch'),
  },
  {
    name: 'a waiter attempts although it was aborted when its turn came',
    ...unit('acquire/acquireWithin', 'after its turn has come is followed by no attempt'),
    ...edit('acquire/acquireWithin', 'if (limit?.over === true) return expire(limit);', ''),
  },
  {
    name: 'claims in the queue of a fair lock never expire',
    ...onServer('scripts/fairQueue', 'has claims that expire'),
    ...edit('kinds/fairQueue', "  redis.call('pexpire', q.claims, ${CLAIMS_EXPIRE_MS})\n", ''),
  },
  {
    name: 'the check of a fair queue stops at a dead head',
    ...onServer('scripts/fairQueue', 'that is dead is dropped by the check'),
    ...edit('kinds/fair', 'if not held then head = purge(q, head) end\n', ''),
  },
  {
    name: 'a closing client sends a cleanup by its hash alone',
    ...unit('connection/Executor', 'a cleanup is sent with the text of its script while the client closes'),
    ...edit('connection/Executor', "!known || (pending.cleanup && this.#state !== 'open')", '!known'),
  },
  {
    name: 'a red lock waits for latecomers twice as long',
    ...unit('locks/quorum', 'waits 1.5 s for the rest'),
    ...edit('locks/multi/quorum', 'const LATECOMER_MS = 1_500;', 'const LATECOMER_MS = 3_400;'),
  },
  {
    name: 'a red lock waits for a server that hung for 3 s',
    ...unit('locks/multiAcquisition', 'a server that hung is waited for by 0.2 s'),
    ...edit('locks/multi/MultiAcquisition', 'const BACK_MS = 200;', 'const BACK_MS = 3_000;'),
  },
  ...(
    [
      ['a partial release', 'scripts/shortenLease', '  touch(name)\n'],
      ['a partial release of a group lock', 'kinds/group', 'if not touched then touch(name) end'],
      ['a partial release of a read lock', 'kinds/readWrite', 'if keep > 0 then touch(name) end'],
      ['a renewal of a read hold whose key has expired', 'kinds/readWrite', '      touch(name)\n'],
      ['a count-down', 'kinds/latch', '  touch(name)\n'],
      ['a release of permits', 'kinds/semaphore', '  touch(name)\n'],
    ] as const
  ).map(([what, file, search]) => ({
    name: `a full server refuses ${what}`,
    ...FULL,
    ...edit(file, search, ''),
  })),
  {
    name: 'a full server refuses the end of a write lock that reads on',
    ...FULL,
    edits: [
      {
        file: 'kinds/readWrite.ts',
        search: "  redis.call('pexpire', name, longest)\n  redis.call('hset'",
        replace: "  redis.call('hset'",
      },
    ],
  },
  {
    name: 'a full server refuses a hand-over',
    ...FULL,
    ...edit(
      'kinds/reentrant',
      "redis.call('pexpire', name, lease)\n-- the heir goes in first",
      '-- the heir goes in first',
    ),
  },
  {
    name: 'a full server refuses the hand-over of a fenced lock',
    ...FULL,
    ...edit(
      'kinds/fenced',
      "redis.call('pexpire', name, lease)\nredis.call('incr', token)",
      "redis.call('incr', token)",
    ),
  },
  {
    name: 'replies after the lease count on although others have had it in between',
    ...unit('locks/giveUp', 'are counted in a row'),
    ...edit('acquire/Acquisition', '      this.#late = 0;\n', ''),
  },
  {
    name: 'a loss has a cause from before the lock was taken again',
    ...unit('watchdog/failures', 'gives a loss no cause from before'),
    ...edit('watchdog/Watchdog', '    ownership.failure = undefined;\n    // One that', '    // One that'),
  },
  {
    name: 'a closed client checks its holds once more',
    ...unit('watchdog/check', 'once the client is closed'),
    ...edit(
      'watchdog/OwnershipTable',
      'for (const ownership of ownerships) watcher?.ended(ownership);',
      'void watcher;',
    ),
  },
  {
    name: 'permits that are lost here, but not in Redis, are not given back',
    ...unit('synchronizers/permitUndo', 'gives back what Redis still has'),
    ...edit('synchronizers/PermitHold', "held.giveBack?.('released', undefined);", ''),
  },
  {
    name: 'a late renewal may bring a lost hold back unseen',
    ...unit('watchdog/OwnershipTable', 'also behind one whose lease goes on'),
    ...edit('acquire/Rollback', 'now + leaseMs + LATE_MS);\n    if', 'now + leaseMs);\n    if'),
  },
  {
    name: 'a ticket that is taken up twice is not seen on a new connection',
    ...unit('locks/attach', 'gets the lock at once'),
    ...edit(
      'locks/core/LockTarget',
      'ownership.owner, leaseMs, sendRecord));',
      'ownership.owner, leaseMs, { ...sendRecord }));',
    ),
  },
  {
    name: 'the node that ASK names is closed before its first slot comes',
    ...unit('connection/ClusterView', 'stays connected for a minute'),
    ...edit('connection/cluster/ClusterView', 'const KEEP_MS = 60_000;', 'const KEEP_MS = 0;'),
  },
  {
    name: 'the node that ASK names stays connected for ever',
    ...unit('connection/ClusterView', 'stays connected for a minute'),
    ...edit('connection/cluster/ClusterView', 'const KEEP_MS = 60_000;', 'const KEEP_MS = Infinity;'),
  },
  {
    name: 'nobody renews what a watchdog thread that hangs should renew',
    ...unit('watchdog/renewalThread', 'renews what a thread that hangs leaves'),
    ...edit(
      'watchdog/Watchdog',
      'return deadline - performance.now() > watchdogMs * OVERDUE_PART;',
      'return deadline + watchdogMs > 0;',
    ),
  },
  {
    name: 'a loss is judged before the reports of the watchdog thread are read',
    ...unit('watchdog/renewalThread', 'reads what the thread has reported'),
    ...edit('watchdog/Watchdog', '    this.thread?.receive();\n', ''),
  },
  {
    name: 'nothing is renewed at once when the watchdog thread has died',
    ...unit('watchdog/renewalThread', 'the main thread renews all at once'),
    ...edit('watchdogThread/WatchdogThread', '    watchdog.renewNow();\n', ''),
  },
  {
    name: 'a watchdog thread that has died still counts as one that renews',
    ...unit('watchdog/renewalThread', 'the main thread renews all at once'),
    ...edit('watchdogThread/WatchdogThread', '    watchdog.thread = undefined;\n', ''),
  },
  {
    name: 'a full server refuses a partial release of a fair lock',
    ...FULL,
    ...edit('kinds/fair', '  if leaveHolds(name,', "  redis.call('hset', name, owner, left)\n  if leaveHolds(name,"),
  },
  {
    name: 'a shutdown leaves the place in the queue of a fair lock, and the attempt under way',
    ...onServer('locks/fairWaiters', 'takes back an attempt that is on the wire'),
    ...edit('connection/Executor', "(this.#state === 'closing' && pending.cleanup)", 'pending.sends > 99'),
  },
  {
    name: 'a shutdown does not wait until its last commands are sent',
    ...onServer('locks/fairWaiters', 'takes back an attempt that is on the wire'),
    ...edit(
      'connection/Executor',
      "    await this.laterTurn();\n    this.#state = 'closed';",
      "    this.#state = 'closed';",
    ),
  },
  {
    name: 'a script may be sent again unless it says otherwise',
    by: { file: 'test/structure/resend.test.ts', grep: 'says whose call it is, or writes nothing' },
    ...edit('scripts/Script', "resend: rules.query === true ? 'always' : 'never'", "resend: 'always'"),
  },
  {
    name: 'a forced release may be sent again',
    by: { file: 'test/faults/takenOnce.test.ts', grep: 'leaves the next one what it has' },
    ...edit('scripts/Script', "TAKES = { resend: 'never'", "TAKES = { resend: 'always'"),
  },
  {
    name: 'a second attach does not see the first one, which may have taken the ticket',
    ...unit('locks/attach', 'gets the lock at once'),
    ...edit('locks/Lock', 'const threadId = engine.context.undoneAttach.get(from);', 'const threadId = undefined;'),
  },
  {
    name: 'a hold that was dropped in a scope is renewed for ever',
    ...onServer('locks/abandoned', 'is renewed no longer, with a warning'),
    ...edit(
      'locks/Lock',
      "call.origin === 'acquire' && !call.given;",
      "call.origin === 'acquire' && !call.given && call.around === undefined;",
    ),
  },
  {
    name: 'a hold that was dropped in a scope is given up although work goes on in it',
    ...onServer('locks/abandoned', 'is kept while work goes on in it'),
    ...edit('watchdog/OwnershipTable', 'if (live !== undefined) {', 'if (live !== undefined && !live.over) {'),
  },
  {
    name: 'an asynchronous listener that rejects is an unhandled rejection',
    ...unit('util/userCode', 'that is asynchronous and rejects is a warning'),
    ...edit('util/userCode', 'if (isThenable(result))', 'if (isThenable(result) && what === "")'),
  },
];
