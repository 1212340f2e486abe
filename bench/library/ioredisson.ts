import * as path from 'node:path';
import { type Redisson } from '../../lib';
import { type LockSession, type SessionOptions } from '../harness/contestant';

// The copy of the built package that the launcher made (this file runs from bench/dist/library), so that a build that
// happens meanwhile does not change what is measured.
const builtPackage = path.resolve(__dirname, '..', 'package', 'index.js');

/** This package: a handle of `getLock` per waiter, each a thread of its own; `lock()` and `unlock()` as they are. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const library = (await import(builtPackage)) as { Redisson: typeof Redisson };
  const client = library.Redisson.create({ url: options.url, lockWatchdogTimeout: options.watchdogMs });
  // create() connects in the background; the first answer shows that it is done.
  await client.getLock('bench:connected').isLocked();
  return {
    handle: (name) => client.getLock(name),
    close: () => client.shutdown(),
  };
}
