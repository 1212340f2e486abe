/** The part of a pause that chance decides. */
const RANDOM_PART = 0.6;

/**
 * A pause of at most `ms`, shortened by chance, so that many clients whose connections broke at the same moment do not
 * all come back at the same moment, again and again.
 *
 * @param ms - the longest pause, in ms
 * @returns whole ms, at least two fifths of it
 */
export function jittered(ms: number): number {
  return Math.ceil(ms * (1 - RANDOM_PART * Math.random()));
}

/**
 * `process.nextTick`, as it was when this module was loaded: fake timers of tests hold theirs back, and forget what waits
 * for it when they are taken away.
 */
export const nextTick = process.nextTick.bind(process);

/** Resolves in a later turn of the event loop: what waits in the sockets is read before. */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves when all have settled, or after so many ms. It alone does not keep the process alive. */
export function settledWithin(operations: readonly Promise<unknown>[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    void Promise.allSettled(operations).then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
