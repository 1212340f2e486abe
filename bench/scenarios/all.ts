import { type Scenario } from '../harness/scenario';
import { scenario as drainOneProcess } from './drainOneProcess';
import { scenario as drainProcesses } from './drainProcesses';
import { scenario as heldLocks } from './heldLocks';
import { scenario as heldStall } from './heldStall';
import { scenario as herd } from './herd';
import { scenario as hotKey } from './hotKey';
import { scenario as hotKeySection } from './hotKeySection';
import { scenario as idleHolds } from './idleHolds';
import { scenario as idleWaiters } from './idleWaiters';
import { scenario as manyKeys } from './manyKeys';
import { scenario as sequential } from './sequential';
import { scenario as wakeUp } from './wakeUp';

/** All scenarios, in the order of the report. */
export const scenarios: readonly Scenario[] = [
  sequential,
  manyKeys,
  hotKey,
  hotKeySection,
  drainProcesses,
  drainOneProcess,
  herd,
  wakeUp,
  idleHolds,
  idleWaiters,
  heldLocks,
  heldStall,
];
