import type { ListedMutation } from './list';

/** Ways to break what only a fault at the right step shows, by the exploration or by the test of a proved defect. */
export const DEFECT_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'an undo overtakes the unlock that is under way',
    exploring: { scenario: 'unlock-NOREPLICAS', kind: 'cut-before-write' },
    edits: [
      {
        file: 'locks/core/LockTarget.ts',
        search: 'return !ownership.unsettled && !ownership.releasing && ownership.holds.length === 0;',
        replace: 'return !ownership.unsettled && ownership.holds.length === 0;',
      },
    ],
  },
  {
    name: 'permits that were asked for on two connections are handed out',
    exploring: { scenario: 'permits', kind: 'late' },
    edits: [
      {
        file: 'acquire/acquireWithin.ts',
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
        file: 'acquire/acquireWithin.ts',
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
        file: 'acquire/acquireWithin.ts',
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
        file: 'acquire/acquireWithin.ts',
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
];
