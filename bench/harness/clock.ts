import { performance } from 'node:perf_hooks';

/**
 * What has to be added to performance.now() for process.hrtime's scale (CLOCK_MONOTONIC, which all processes of a
 * machine share): the cheap clock is moved onto the shared scale once. A process that is interrupted between the two
 * readings gets too small a difference, so the largest of many is the true one.
 */
function sharedOffsetMs(): number {
  let offset = -Infinity;
  for (let sample = 0; sample < 200; sample += 1) {
    offset = Math.max(offset, Number(process.hrtime.bigint()) / 1e6 - performance.now());
  }
  return offset;
}

const offsetMs = sharedOffsetMs();

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
