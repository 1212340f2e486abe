import type { ExploredMutation } from './list';

/** Ways to break what only a fault at the right step shows. */
export const EXPLORED_MUTATIONS: readonly ExploredMutation[] = [
  {
    name: 'an undo overtakes the unlock that is under way',
    exploring: { scenario: 'unlock-NOREPLICAS', kind: 'cut-before-write' },
    edits: [
      {
        file: 'locks/core/undo.ts',
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
        file: 'acquire/Acquisition.ts',
        search: 'if (target.exchanges !== undefined && this.#isOnManyConnections() && !sendRecord.cancelled) {',
        replace: 'if (target.exchanges !== undefined && sendRecord.sends < 0) {',
      },
    ],
  },
  {
    name: 'permits that a late command took are not looked for',
    exploring: { scenario: 'permits', kind: 'late' },
    edits: [
      {
        file: 'synchronizers/PermitExpirableSemaphore.ts',
        search: 'object.context.rollback.undo(leftover, why);',
        replace: "if (why === 'doubtful' && !sent.onManyConnections) object.context.rollback.undo(leftover, why);",
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
        replace: "(this.#state === 'draining' && !this.#isInSection() && this.#sections.size < 0)",
      },
    ],
  },
];
