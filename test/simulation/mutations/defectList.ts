import type { ListedMutation } from './list';

/** Ways to break what only a fault at the right step shows, by the exploration or by the test of a proved defect. */
export const DEFECT_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'a lease that ended while the loop was blocked lets withLock re-enter',
    by: { file: 'test/unit/locks/scopes.test.ts', grep: 'whose lease ended while the event loop was blocked' },
    edits: [{ file: 'locks/core/acquireInScope.ts', search: '  lock.context.watchdog.catchUp();\n', replace: '' }],
  },
  {
    name: 'a replaced listener whose PING is not answered has lost nothing',
    by: { file: 'test/unit/connection/ConnectionSubscriber.test.ts', grep: 'does not say that it has delivered all' },
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'if (missed) this.#restore();',
        replace: 'void missed;',
      },
    ],
  },
  {
    name: 'waiters attempt in the first gap of a subscription only',
    by: { file: 'test/unit/waiters/Subscriptions.test.ts', grep: 'in each gap of a live subscription' },
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'this.#polling?.off();\n    this.#polling = undefined;',
        replace: 'this.#polling?.off();',
      },
    ],
  },
  {
    name: 'a login that fails once more is asked for as late as at the end of the last outage',
    by: { file: 'test/unit/connection/Logins.test.ts', grep: 'is asked again soon when it fails the next time' },
    edits: [{ file: 'connection/link/Logins.ts', search: '      failures = 0;\n', replace: '' }],
  },
  {
    name: 'a provider that gives up once more is subscribed to as late as at the end of the last outage',
    by: { file: 'test/unit/connection/loginSources.test.ts', grep: 'is subscribed to soon when it gives up again' },
    edits: [
      {
        file: 'connection/link/loginSources.ts',
        search: 'this.#failures = 0;\n      this.#tell();',
        replace: 'this.#tell();',
      },
    ],
  },
  {
    name: 'a wait is over before what has arrived is read',
    by: { file: 'test/unit/util/Alarm.test.ts', grep: 'lets the sockets be read before it rings' },
    edits: [
      {
        file: 'util/Alarm.ts',
        search: 'this.#reading ??= setImmediate(this.#judge);',
        replace: 'this.#judge();',
      },
    ],
  },
  {
    name: 'a blocked event loop leaves replies no time',
    by: { file: 'test/unit/util/Alarm.test.ts', grep: 'gives replies as long as the loop was blocked' },
    edits: [{ file: 'util/Alarm.ts', search: 'if (now >= this.#patientUntil ||', replace: 'if (now >= this.at ||' }],
  },
  {
    name: 'a wait that is over does not wait for a reply that a blocked loop holds up',
    by: { file: 'test/unit/acquire/WaitLimit.test.ts', grep: 'waits for a reply as long as it was blocked' },
    edits: [{ file: 'acquire/WaitLimit.ts', search: 'judges: () => !this.#sleeping', replace: 'judges: () => false' }],
  },
  {
    name: 'each waiter tells all others of an outage',
    by: { file: 'test/unit/waiters/outage.test.ts', grep: 'is told once per queue' },
    edits: [
      {
        file: 'waiters/WaitQueue.ts',
        search: 'if (this.sleepers > 0) this.attemptAll();',
        replace: 'this.attemptAll();',
      },
    ],
  },
  {
    name: 'a channel that is refused refuses those beside it',
    by: { file: 'test/unit/connection/ConnectionSubscriber.test.ts', grep: 'nobody else is refused' },
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'if (channels.length > 1 && failure',
        replace: 'if (channels.length > 1e9 && failure',
      },
    ],
  },
  {
    name: 'an undo overtakes the unlock that is under way',
    exploring: { scenario: 'unlock-NOREPLICAS', kind: 'cut-before-write' },
    edits: [
      {
        file: 'locks/core/LockTarget.ts',
        search: "return !lane.mustWait('search') && ownership.holds.length === 0;",
        replace: "return !lane.mustWait('undo') && ownership.holds.length === 0;",
      },
    ],
  },
  {
    name: 'permits that were asked for on two connections are handed out',
    exploring: { scenario: 'permits', kind: 'late' },
    edits: [
      {
        file: 'acquire/Acquisition.ts',
        search: 'if (target.exchange !== undefined && this.#isOnManyConnections() && !sendRecord.cancelled) {',
        replace: 'if (target.exchange !== undefined && sendRecord.sends < 0) {',
      },
    ],
  },
  {
    name: 'permits that a late command took are not looked for',
    exploring: { scenario: 'permits', kind: 'late' },
    edits: [
      {
        file: 'synchronizers/permitExpirableSemaphore.ts',
        search: 'object.context.rollback.undo(leftover, why);',
        replace:
          "if (why === 'doubtful' && sent?.onManyConnections !== true) object.context.rollback.undo(leftover, why);",
      },
    ],
  },
  {
    name: 'a drain refuses what a section asks for',
    exploring: { scenario: 'sections', kind: 'drain' },
    edits: [
      {
        file: 'acquire/Closing.ts',
        search: "(this.#state === 'draining' && this.#isInSection())",
        replace: "(this.#state === 'draining' && false)",
      },
    ],
  },
  {
    name: 'a waiter sleeps for the ttl from when it has read it',
    by: { file: 'test/unit/locks/waiting.test.ts', grep: 'C9: counts the ttl from the sending of the attempt' },
    edits: [
      {
        file: 'acquire/Acquisition.ts',
        search: 'now - sentAt - ON_THE_WAY_MS',
        replace: '0 * (now - sentAt) - ON_THE_WAY_MS',
      },
    ],
  },
  {
    name: 'an attempt without a reply is forgotten where the next one is refused',
    by: { file: 'test/unit/locks/giveUp.test.ts', grep: 'although the next one was refused on another connection' },
    edits: [
      {
        file: 'acquire/Acquisition.ts',
        search: 'this.#isOnManyConnections() || inDoubt',
        replace: 'inDoubt || this.#isOnManyConnections()',
      },
    ],
  },
  {
    name: 'an undo that no replica has confirmed is the last',
    by: { file: 'test/unit/locks/undo.test.ts', grep: 'no replica has confirmed: a failover may bring it back' },
    edits: [
      {
        file: 'acquire/Rollback.ts',
        search: 'if (!found && records',
        replace: 'if (entry.why === undefined && records',
      },
    ],
  },
  {
    name: 'the undo of permits ends when it has found them once',
    by: { file: 'test/unit/synchronizers/permitUndo.test.ts', grep: 'goes on when it has found them once' },
    edits: [
      {
        file: 'synchronizers/permitExpirableSemaphore.ts',
        search: 'released > 0 && sent?.sends === 1 &&',
        replace: 'released > 0 &&',
      },
    ],
  },
  {
    name: 'a thread waits for the watchdog thread before it is known that it acquires',
    by: { file: 'test/redis/locks/watchdogThread.test.ts', grep: 'C1: parallel branches that re-enter take turns' },
    edits: [
      {
        file: 'locks/core/LockEngine.ts',
        search: '    const watchdogMs = request.watchdogMs ?? context.settings.lockWatchdogTimeout;\n',
        replace:
          '    await context.watchdog.thread?.settled(ownership);\n    const watchdogMs = request.watchdogMs ?? context.settings.lockWatchdogTimeout;\n',
      },
    ],
  },
  {
    name: 'values of a group wait for each other although no set has both',
    by: {
      file: 'test/redis/locks/groupLock.test.ts',
      grep: 'C7: a callback that leaves a wait for another value behind',
    },
    edits: [
      {
        file: 'watchdog/Ownership.ts',
        search: 'ownership.overlapping = this.sharing(ownership.values!.fields);',
        replace: 'ownership.overlapping = [...this.#all];',
      },
    ],
  },
  {
    name: 'holds are not looked at when the connection is back',
    by: { file: 'test/redis/locks/restart.test.ts', grep: 'after a restart without data, with and without leases' },
    edits: [{ file: 'Redisson.ts', search: 'executor.onReplaced = watchdog.check;', replace: '' }],
  },
  {
    name: 'a shorter lease counts only when Redis has confirmed it',
    by: { file: 'test/unit/locks/setLease.test.ts', grep: 'shortens a lease as well' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: '    hold.leaseEnd = leaseEnd;\n    this.#shorten(ownership);',
        replace: '    hold.leaseEnd = leaseEnd;',
      },
    ],
  },
  {
    name: 'an extension gives the lock back',
    by: { file: 'test/unit/locks/setLease.test.ts', grep: 'ends the watchdog, and the hold with the new lease' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: '    const command = ownership.lane.begin(record, undoes === undefined);\n',
        replace:
          '    const command = ownership.lane.begin(record, undoes === undefined);\n' +
          '    if (hold === undefined && undoes === undefined) command.leaves = () => ({ left: 0, remainingMs: 0 });\n',
      },
    ],
  },
  {
    name: 'a shutdown forgets the holds that it leaves to expire',
    by: { file: 'test/unit/watchdog/OwnershipTable.test.ts', grep: 'an undo of a re-entry leaves it' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: "if (how === 'givenUp' || how === 'closed') for",
        replace: "if (how === 'givenUp') for",
      },
    ],
  },
];
