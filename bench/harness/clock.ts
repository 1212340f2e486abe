import { performance } from 'node:perf_hooks';

// process.hrtime reads CLOCK_MONOTONIC, which all processes of a machine share; performance.now() reads the same clock
// from a start of its own, is much cheaper to call, and so is moved onto the shared scale once.
const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** Now, in ms on the monotonic clock that all processes of this machine share. */
export function monotonicMs(): number {
  return performance.now() + offsetMs;
}

/** Resolves at that moment of {@link monotonicMs}: sleeps until just before it, then yields until it is reached. */
export async function untilMonotonic(atMs: number): Promise<void> {
  const sleepMs = atMs - monotonicMs() - 2;
  if (sleepMs > 0) await sleep(sleepMs);
  while (monotonicMs() < atMs) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after that many ms. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
