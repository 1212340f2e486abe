import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHold } from '../api';
import { ShutdownError } from '../errors';
import { currentScope, enclosingScopes, type Scope, scopeAround } from '../thread/threadScope';

/**
 * Whether a call of this client may still begin, or go on waiting.
 *
 * While the client drains, only calls inside a section of its own that still runs may: the work under that lock
 * finishes. A thread that such a section has started counts as part of it.
 *
 * States: open -> draining -> closed, or open -> closed.
 */
export class Closing {
  #state: 'open' | 'draining' | 'closed' = 'open';
  /** The sections of locks of this client, and their holds: scopes are shared by all clients of the process. */
  readonly #sections = new WeakMap<Scope, LockHold>();
  /** Work under permits, which is in no section of its own. Made when needed: most clients have none. */
  #work: AsyncLocalStorage<Work> | undefined;

  /** A section begins under a lock of this client. */
  entered(section: Scope, hold: LockHold): void {
    this.#sections.set(section, hold);
  }

  /** It has ended. What it has started may live for long, and must not keep its hold in memory. */
  left(section: Scope): void {
    this.#sections.delete(section);
  }

  /** The hold of the innermost section around the call, of those that fit. */
  holdAround(fits: (hold: LockHold) => boolean): LockHold | undefined {
    for (let scope = currentScope(); scope !== undefined; scope = scopeAround(scope)) {
      const hold = this.#sections.get(scope);
      if (hold !== undefined && fits(hold)) return hold;
    }
    return undefined;
  }

  /** Runs work that may go on while the client drains: that under permits. */
  async runWork<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    this.#work ??= new AsyncLocalStorage();
    const work: Work = { over: false, around: liveWork(this.#work.getStore()) };
    try {
      return await this.#work.run(work, async () => fn());
    } finally {
      work.over = true;
      work.around = liveWork(work.around);
    }
  }

  /** The client shuts down. Waiting calls must be woken then: each asks {@link mayBegin}. */
  begin(state: 'draining' | 'closed'): void {
    this.#state = state;
  }

  /**
   * Asked in the context of the caller, before the first attempt of a call and before each further one.
   * @param call - `what` is being done, for the error, e.g. `acquire lock 'a'`
   * @throws ShutdownError if it may not begin, or go on
   */
  mayBegin(call: { readonly what: string }): void {
    if (this.#state === 'open' || (this.#state === 'draining' && this.#isInSection())) return;
    throw this.error(call.what);
  }

  /** The error of calls that may not begin. */
  readonly error = (what?: string): ShutdownError => new ShutdownError(what, this.#state === 'draining');

  #isInSection(): boolean {
    if (liveWork(this.#work?.getStore()) !== undefined) return true;
    for (const scope of enclosingScopes(currentScope())) if (this.#sections.has(scope)) return true;
    return false;
  }
}

/** Work under permits, and that around it. */
interface Work {
  over: boolean;
  around: Work | undefined;
}

function liveWork(work: Work | undefined): Work | undefined {
  let live = work;
  while (live?.over === true) live = live.around;
  return live;
}
