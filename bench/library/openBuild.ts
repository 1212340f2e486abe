import * as path from 'node:path';
import type * as library from '../../lib';
import { type LockSession, type SessionOptions } from '../harness/contestant';

/**
 * A build of this package: a handle of `getLock` per waiter, each a thread of its own; `lock()` and `unlock()` as they
 * are.
 *
 * @param folder - of bench/dist: the copy that the launcher made (this file runs from bench/dist/library), so that a build
 *   that happens meanwhile does not change what is measured
 */
export async function openBuild(
  folder: string,
  { url, watchdogMs }: SessionOptions,
  settings: library.RedissonOptions = {},
): Promise<LockSession> {
  const { Redisson } = (await import(path.resolve(__dirname, '..', folder, 'index.js'))) as typeof library;
  const client = Redisson.create({ url, lockWatchdogTimeout: watchdogMs, ...settings });
  // create() connects in the background; the first answer shows that it is done.
  await client.getLock('bench:connected').isLocked();
  return {
    handle: (name) => client.getLock(name),
    close: () => client.shutdown(),
  };
}
