/*
 * Every error of every command: what the caller is told, and what is in Redis when it is told. Whatever is left is gone
 * soon after the error has passed; `undo.test.ts` shows each cell on a real server, and test/promises/reliability.md
 * has this table.
 */

/** What goes wrong, as `undo.test.ts` brings it about. */
export const ERRORS = [
  'no answer',
  'connection lost',
  'OOM',
  'MISCONF',
  'NOPERM',
  'NOPERM for channels',
  'READONLY',
  'NOREPLICAS',
  'WRONGTYPE',
  'BUSY',
  'NOSCRIPT',
] as const;

/** What is being done meanwhile. */
export const COMMANDS = [
  'acquire',
  're-enter',
  'release',
  'release what was lost',
  'hand over',
  'renew',
  'leave a queue',
  'take a permit',
  'return a permit',
  'set a lease',
  'take from a semaphore',
  'give to a semaphore',
] as const;

export type UndoError = (typeof ERRORS)[number];
export type UndoCommand = (typeof COMMANDS)[number];

/**
 * `told, left`: `done` or the code of the error; what is in Redis then, and should not be there (`-`: nothing; `?`:
 * nobody can look).
 */
export type Cell = string;

/** Redis refuses each write, and so the undo as well, until the error has passed. */
const REFUSED: readonly Cell[] = [
  'COMMAND, -',
  'COMMAND, -',
  'COMMAND, hold',
  'COMMAND, hold',
  'COMMAND, hold',
  'done, -',
  'aborted, place',
  'COMMAND, -',
  'COMMAND, permit',
  'COMMAND, -',
  'COMMAND, -',
  'COMMAND, permit',
];

/** The command is done all the same. */
const UNHARMED: readonly Cell[] = [
  'done, -',
  'done, -',
  'done, -',
  'done, -',
  'done, -',
  'done, -',
  'aborted, -',
  'done, -',
  'done, -',
  'done, -',
  'done, -',
  'done, -',
];

/** The rows are in the order of {@link ERRORS}, the cells in that of {@link COMMANDS}. */
export const TABLE: Readonly<Record<UndoError, readonly Cell[]>> = {
  'no answer': [
    'COMMAND_TIMEOUT, hold',
    'COMMAND_TIMEOUT, hold',
    'COMMAND_TIMEOUT, -',
    'COMMAND_TIMEOUT, -',
    'COMMAND_TIMEOUT, -',
    'done, -',
    'aborted, -',
    'COMMAND_TIMEOUT, permit',
    'COMMAND_TIMEOUT, -',
    'COMMAND_TIMEOUT, -',
    'COMMAND_TIMEOUT, permit',
    'COMMAND_TIMEOUT, -',
  ],
  'connection lost': [
    'CONNECTION, hold',
    'CONNECTION, hold',
    'CONNECTION, -',
    'CONNECTION, -',
    'CONNECTION, -',
    'done, -',
    'aborted, -',
    'CONNECTION, permit',
    'CONNECTION, -',
    'CONNECTION, -',
    'CONNECTION, permit',
    'CONNECTION, -',
  ],
  OOM: [
    'COMMAND, -',
    'COMMAND, -',
    'done, -',
    'done, -',
    'done, -',
    'done, -',
    'aborted, -',
    'COMMAND, -',
    'done, -',
    'done, -',
    'COMMAND, -',
    'done, -',
  ],
  MISCONF: REFUSED,
  NOPERM: REFUSED,
  'NOPERM for channels': UNHARMED,
  READONLY: REFUSED,
  NOREPLICAS: REFUSED,
  WRONGTYPE: [
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
    'done, -',
    'aborted, -',
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
    'COMMAND, -',
  ],
  BUSY: [
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'done, ?',
    'aborted, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
    'COMMAND, ?',
  ],
  NOSCRIPT: UNHARMED,
};

const SHOWN = '[leaves nothing behind, and tells what is true](../faults/undo.test.ts)';

/** The table as it stands in test/promises/reliability.md, its cells without the spaces that make columns. */
export function undoTableRows(): string[][] {
  return [['fault', ...COMMANDS, 'shown by'], ...ERRORS.map((error) => [error, ...TABLE[error], SHOWN])];
}
