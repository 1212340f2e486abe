import type { Origin } from '../renewal/Hold';
import {
  currentScope,
  isBesideSection,
  newSection,
  newThread,
  threadAround,
  type LogicalThread,
  type Scope,
} from '../thread/threadScope';

/** One call, as far as threads go. The facade reads it once and passes it down, to the members of a multi-lock as well. */
export interface CallingThread {
  readonly origin: Origin;
  /** Whether the caller named the thread. Nothing else then decides. */
  readonly given: boolean;
  /** The scope around the call. */
  readonly around: Scope | undefined;
  /** Its thread, where no hold of the lock decides otherwise (`chooseThread`). */
  readonly thread: LogicalThread;
  /** The section that it begins, of `withLock`. */
  readonly section: Scope | undefined;
  /** Whether it is the handle's, for want of anything better. */
  readonly viaHandle: boolean;
  /** A thread of its own, made when it turns out that it needs one. */
  spare: LogicalThread | undefined;
  /** Of a multi-lock: monotonic time at which it began to wait for its members, one after the other. */
  since: number | undefined;
}

/**
 * The logical thread of a handle, and the rule that decides whose thread a `lock()` or an `unlock()` is: the one given,
 * else that of the scope the call runs in, else the handle's. The two halves of a read/write lock share one.
 */
export class HandleThread {
  #own: CallingThread | undefined;

  /** The thread of a call that names `given`. */
  of(given: number | undefined): CallingThread {
    const around = currentScope();
    if (given !== undefined) return calling('plain', true, around, threadOf(around, given));
    if (around !== undefined) return calling('plain', false, around, around.thread);
    this.#own ??= calling('plain', false, undefined, newThread(), undefined, true);
    return this.#own;
  }
}

/**
 * Whose thread an `acquire` or a `withLock` is: the one given; the scope's, unless that is in a section beside the call;
 * else a new one.
 * @param beginsSection - `withLock`: `endSection` must follow
 */
export function threadForHold(given: number | undefined, beginsSection: boolean): CallingThread {
  const around = currentScope();
  const thread =
    given !== undefined
      ? threadOf(around, given)
      : around === undefined || isBesideSection(around)
        ? newThread()
        : around.thread;
  if (!beginsSection) return calling('acquire', given !== undefined, around, thread);
  return calling('section', given !== undefined, around, thread, newSection(thread, around));
}

function calling(
  origin: Origin,
  given: boolean,
  around: Scope | undefined,
  thread: LogicalThread,
  section?: Scope,
  viaHandle = false,
): CallingThread {
  return { origin, given, around, thread, section, viaHandle, spare: undefined, since: undefined };
}

function threadOf(around: Scope | undefined, id: number): LogicalThread {
  return threadAround(around, id) ?? newThread(id);
}
