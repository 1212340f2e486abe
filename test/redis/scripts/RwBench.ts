import {
  acquireReadLock,
  forceReleaseReadLock,
  isReadLocked,
  releaseReadLock,
  renewReadLocks,
  acquireWriteLock,
  forceReleaseWriteLock,
  isWriteLocked,
  releaseWriteLock,
} from '../../../lib/kinds/readWrite';
import type { ReleaseReply } from '../../../lib/scripts/replies';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { prefixName, suffixName } from '../../../lib/util/names';
import type { ScriptBench } from './ScriptBench';

/** The scripts of the read/write lock by short names. */
export class RwBench {
  readonly #bench: ScriptBench;

  constructor(bench: ScriptBench) {
    this.#bench = bench;
  }

  read(owner: string, count = 1, lease = 30_000) {
    const { name } = this.#bench;
    return this.#bench.run(
      acquireReadLock,
      { name, timeoutPrefix: this.#prefix(owner) },
      { lease, owner, writer: `${owner}:write`, count },
    );
  }

  unread(owner: string, left = 0, remaining = 0): Promise<ReleaseReply> {
    return this.#bench.run(
      releaseReadLock,
      { ...this.#keys(), timeoutPrefix: this.#prefix(owner) },
      { message: '0', owner, left, remaining, publish: PUBLISH_COMMAND },
    );
  }

  write(owner: string, count = 1, lease = 30_000) {
    return this.#bench.run(acquireWriteLock, this.#keys(), { lease, owner: `${owner}:write`, count });
  }

  unwrite(owner: string, left = 0, remaining = 0): Promise<ReleaseReply> {
    return this.#bench.run(releaseWriteLock, this.#keys(), {
      message: '1',
      owner: `${owner}:write`,
      left,
      remaining,
      publish: PUBLISH_COMMAND,
    });
  }

  forceRead() {
    return this.#bench.run(forceReleaseReadLock, this.#keys(), { message: '0', publish: PUBLISH_COMMAND });
  }

  forceWrite() {
    return this.#bench.run(forceReleaseWriteLock, this.#keys(), { message: '1', publish: PUBLISH_COMMAND });
  }

  /** Whether it is locked for reading, and for writing. */
  async locked(): Promise<[boolean, boolean]> {
    return [
      await this.#bench.run(isReadLocked, this.#keys(), {}),
      await this.#bench.run(isWriteLocked, this.#keys(), {}),
    ];
  }

  renew(owners: readonly string[], lease = 30_000) {
    const { name, keyPrefix } = this.#keys();
    return this.#bench.run(
      renewReadLocks,
      {},
      { lease },
      { moreKeys: owners.flatMap(() => [name, keyPrefix]), moreArgs: owners },
    );
  }

  pttl(): Promise<number> {
    return this.#bench.redis.pttl(this.#bench.name);
  }

  /** The time to live of a read hold. */
  holdPttl(owner: string, hold: number): Promise<number> {
    return this.#bench.redis.pttl(this.hold(owner, hold));
  }

  /** The key of a read hold. */
  hold(owner: string, hold: number): string {
    return `${this.#prefix(owner)}:${hold}`;
  }

  #prefix(owner: string): string {
    return `${suffixName(this.#bench.name, owner)}:rwlock_timeout`;
  }

  #keys() {
    const { name } = this.#bench;
    return { name, channel: prefixName('redisson_rwlock', name), keyPrefix: `{${name}}` };
  }
}
