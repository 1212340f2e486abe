import { RemoteError } from './RemoteError';

/** What became of a call: its result, or the kind of its error (`IllegalMonitorState`). */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof RemoteError) return error.kind;
    throw error;
  }
}

/** Whether a promise has settled by now. */
export async function isPending(call: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const first = await Promise.race([
    call.catch(() => undefined),
    new Promise((resolve) => setImmediate(resolve, pending)),
  ]);
  return first === pending;
}
