// Captured before any test fakes the clock: what waits for a real server or a real socket must not stop with it.
const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;
const realSetImmediate = globalThis.setImmediate;
const realNow = performance.now.bind(performance);

/** A timer that no fake clock touches, and that by itself keeps no process alive. */
export function laterForReal(action: () => void, ms: number): () => void {
  const timer = realSetTimeout(action, ms);
  timer.unref();
  return () => realClearTimeout(timer);
}

/** Sleeps `ms` of real time, whatever the fake clock says. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => realSetTimeout(resolve, ms));
}

/** One real turn of the event loop: everything that was ready has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve));
}

/** Real monotonic milliseconds. */
export function monotonicNow(): number {
  return realNow();
}
