import { LockLostError, Redisson } from '../../lib';

/*
 * A process whose event loop is blocked past its lease: takes the lock named by its arguments, tells so, blocks, and
 * tells what it believed afterwards. Run by stall.test.ts.
 */

/** What the process saw, in its order. */
export interface StallReport {
  /** Whether the signal had aborted when the first await of ours after the stall resolved. */
  readonly abortedAtAwait: boolean;
  /** What `isHeld` said right after the stall, before anything else could run. */
  readonly heldAfterStall: boolean;
  /** How often `onLockLost` was called. */
  readonly losses: number;
  /** What `unlock` rejected with. */
  readonly unlock: string;
  /** What `withLock` rejected with, whose callback stalled the same way. */
  readonly withLock: string;
}

/** Blocks everything, timers and sockets alike. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function main(url: string, name: string, watchdogMs: number, stallMs: number): Promise<void> {
  const redisson = Redisson.create({ url, lockWatchdogTimeout: watchdogMs });
  let losses = 0;
  redisson.onLockLost(() => losses++);
  const hold = await redisson.getLock(name).acquire();
  const { signal } = hold;
  // Its reply comes during the stall: this await is the first to resolve afterwards.
  const first = redisson.getLock(`${name}:other`).isLocked();
  await told('held');
  stall(stallMs);
  const heldAfterStall = hold.isHeld;
  await first;
  const abortedAtAwait = signal.aborted;
  const unlock = await hold.unlock().then(() => 'resolved', describe);

  const inner = redisson.getLock(`${name}:inner`);
  const withLock = await inner
    .withLock(async (own) => {
      const reply = redisson.getLock(`${name}:other`).isLocked();
      await told('held inner');
      stall(stallMs);
      await reply;
      if (!own.signal.aborted) throw new Error('believed in the lock');
    })
    .then(() => 'resolved', describe);
  const report: StallReport = { abortedAtAwait, heldAfterStall, losses, unlock, withLock };
  await told(JSON.stringify(report));
  await redisson.shutdown();
}

function describe(error: unknown): string {
  return error instanceof LockLostError ? 'LockLostError' : String(error);
}

function told(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}

if (require.main === module) {
  const [url = '', name = '', watchdogMs = '', stallMs = ''] = process.argv.slice(2);
  void main(url, name, Number(watchdogMs), Number(stallMs));
}
