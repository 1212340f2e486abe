import type { ListedMutation } from './list';

const TICKETS = 'test/redis/locks/tickets.test.ts';

/** Ways to break tickets, and the end of holds whose object was dropped. */
export const HOLD_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'detach() whose outcome is unknown undoes nothing',
    by: { file: TICKETS, grep: 'got no reply at all is of nobody: the lock is released' },
    edits: [
      {
        file: 'locks/LockHold.ts',
        search: 'undo({ ownership: one, kind, sent, leaseMs }, ',
        replace: 'void (one, ',
      },
    ],
  },
  {
    name: 'a failed detach() leaves its short lease',
    by: { file: TICKETS, grep: 'refused while its shorter lease was set is renewed as before' },
    edits: [
      {
        file: 'locks/LockHold.ts',
        search: 'ownerships.setLease(ownership, hold, before, leaseEnd);',
        replace: '',
      },
    ],
  },
  {
    name: 'attach() that cannot set its lease uses the ticket up',
    by: { file: TICKETS, grep: 'goes back: the ticket stays valid' },
    edits: [
      {
        file: 'locks/Lock.ts',
        search: 'lock.engine.giveBack(hold.threadId, from, ticket.leaseMs);',
        replace: 'void hold.unlock().catch(() => undefined);',
      },
    ],
  },
  {
    name: 'the undo of attach() releases the lock instead of giving it back',
    by: { file: TICKETS, grep: 'stays valid: what it may have changed is undone' },
    edits: [
      {
        file: 'locks/core/LockTarget.ts',
        search: 'from !== undefined && command.leaves().left === 0',
        replace: 'from !== undefined && command.leaves().left < 0',
      },
    ],
  },
  {
    name: 'the signal of a hold whose object was dropped does not abort',
    by: { file: 'test/redis/locks/abandoned.test.ts', grep: 'although only the signal was kept' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: "client.ownerships.letExpire(ownership, hold, 'dropped');",
        replace: 'client.ownerships.letExpire(ownership, hold);',
      },
    ],
  },
];
