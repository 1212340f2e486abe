import type { BackOff } from '../../api';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import type { BackOffWaits } from '../../wait/BackOffWaits';
import type { Renewal } from '../../watchdog/Ownership';
import { fairKind } from './fair';
import type { FairQueueWatch } from './FairQueueWatch';
import { fencedKind } from './fenced';
import { groupKind, groupValues } from './group';
import type { LockKind } from './LockKind';
import { nonReentrantFairKind, nonReentrantKind } from './nonReentrant';
import { readKind } from './read';
import { reentrantKind } from './reentrant';
import { spinKind } from './spin';
import { writeKind } from './write';

/** How the holds of a client are renewed. */
export type Renewals = Readonly<Record<'plain' | 'read' | 'group', Renewal>>;

/** The kinds of lock of one client: by name, those that take a value by a function. */
export interface AllKinds extends Readonly<
  Record<'lock' | 'fair' | 'fenced' | 'nonReentrant' | 'nonReentrantFair' | 'read' | 'write', LockKind>
> {
  readonly group: (values: readonly string[]) => LockKind;
  readonly spin: (backOff: BackOff) => LockKind;
}

/**
 * Makes them.
 *
 * @param queueing - how long a waiter without limit keeps its place in the queue of a fair lock, in ms
 * @param waits - those of spin locks
 */
export function allKinds(
  executor: CommandExecutor,
  id: string,
  { plain, read, group }: Renewals,
  queueing: number,
  fairQueues: FairQueueWatch,
  waits: BackOffWaits,
): AllKinds {
  return {
    lock: reentrantKind(executor, id, plain),
    fair: fairKind(executor, id, plain, queueing, fairQueues),
    fenced: fencedKind(executor, id, plain),
    nonReentrant: nonReentrantKind(executor, id, plain),
    nonReentrantFair: nonReentrantFairKind(executor, id, plain, queueing, fairQueues),
    read: readKind(executor, id, read),
    write: writeKind(executor, id, plain),
    group: (values: readonly string[]) => groupKind(executor, id, group, groupValues(values)),
    spin: (backOff: BackOff) => spinKind(executor, id, plain, () => waits.begin(backOff)),
  };
}
