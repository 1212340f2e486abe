import type { Path } from './paths';
import type { Peer } from './Peer';
import type { DriverRequest } from './Transport';

/** One entry of the reply to {@link PeerThread.batch}. */
export interface BatchEntry {
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
}

/** One call of a {@link PeerThread.batch}. */
export interface BatchCall {
  readonly object: Path;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** A named thread of a {@link Peer}: a Java thread, or a logical thread of this package. */
export class PeerThread {
  readonly peer: Peer;
  /** Within the driver. */
  readonly name: string;

  readonly #keepsHandles: boolean;

  /**
   * @param keepsHandles - whether calls on one path share one object. Redisson keeps the last lease in the lock object,
   *   so this makes a difference to Java
   */
  constructor(peer: Peer, name: string, keepsHandles = false) {
    this.peer = peer;
    this.name = name;
    this.#keepsHandles = keepsHandles;
  }

  /** The same thread, with one object for each path. */
  withHandles(): PeerThread {
    return new PeerThread(this.peer, this.name, true);
  }

  /** The number in its owner name. */
  id(): Promise<number> {
    return this.peer.request({ op: 'threadId', thread: this.name });
  }

  /** `uuid:threadId`, as the hash of a lock has it. */
  async owner(): Promise<string> {
    return `${this.peer.clientId}:${await this.id()}`;
  }

  /** Calls a method of the object at the path, on this thread; rejects with `RemoteError`. */
  call<T = unknown>(object: Path, method: string, ...args: readonly unknown[]): Promise<T> {
    return this.peer.request<T>(this.#request(object, method, args));
  }

  /** As {@link call}, with the times (epoch ms) at which the call began and ended on its side. */
  timed<T = unknown>(
    object: Path,
    method: string,
    ...args: readonly unknown[]
  ): Promise<{ result: T; startedAt: number; endedAt: number }> {
    return this.peer.timed<T>(this.#request(object, method, args));
  }

  /** Many calls, one after the other; one that fails stops nothing. */
  batch(calls: readonly BatchCall[]): Promise<BatchEntry[]> {
    return this.peer.request({ op: 'batch', thread: this.name, calls });
  }

  /** Java: `Thread.interrupt()` of the call under way. Node: aborts the waiting of it. */
  async interrupt(): Promise<void> {
    await this.peer.request({ op: 'interrupt', thread: this.name });
  }

  #request(object: Path, method: string, args: readonly unknown[]): DriverRequest {
    const handle = this.#keepsHandles ? { handle: `${this.name} ${JSON.stringify(object)}` } : {};
    return { op: 'call', thread: this.name, object, method, args, ...handle };
  }
}
