import * as path from 'node:path';
import { type Redisson } from '../../lib';
import { type LockSession, type SessionOptions } from '../harness/contestant';

// The built package, as a user loads it. This file runs from bench/dist/library, hence three folders up; the package
// cannot be required by name, since bench/ has a package.json of its own.
const builtPackage = path.resolve(__dirname, '..', '..', '..', 'dist', 'index.js');

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
