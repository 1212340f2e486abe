import { currentThreadId, newThreadId } from '../thread/threadScope';

/** Whose thread a call belongs to. */
export interface CallingThread {
  readonly threadId: number;
  /** Whether it is the handle's, for want of anything better. */
  readonly viaHandle: boolean;
}

/**
 * The logical thread of a handle, and the rule that decides whose thread a call is: the one given, else the scope the
 * call runs in, else the handle's. Read once per call, in the public method. The two halves of a read/write lock share one.
 */
export class HandleThread {
  #own: CallingThread | undefined;

  /** The thread of a call that names `given`. */
  of(given: number | undefined): CallingThread {
    if (given !== undefined) return { threadId: given, viaHandle: false };
    const scope = currentThreadId();
    if (scope !== undefined) return { threadId: scope, viaHandle: false };
    this.#own ??= { threadId: newThreadId(), viaHandle: true };
    return this.#own;
  }
}
