import type { BenchKind, BenchParameters, BenchResults } from './benchTypes';
import type { Path } from './paths';
import { PeerThread } from './PeerThread';
import { RemoteError } from './RemoteError';
import type { DriverRequest, Transport } from './Transport';

/** Settings of a client, by Redisson's names; the same object makes a Java client and a Node client. */
export interface PeerConfig {
  /** Default `single`. */
  readonly mode?: 'single' | 'cluster' | 'sentinel';
  /** `redis://host:port` of the server, of some cluster nodes, or of the sentinels. */
  readonly addresses: readonly string[];
  readonly masterName?: string;
  /** Both sides put this before every name. */
  readonly nameMapperPrefix?: string;
  /** Java only: its `StringCodec` instead of the default. A group lock hashes values as the codec encodes them. */
  readonly codec?: 'string';
  readonly lockWatchdogTimeout?: number;
  readonly fairLockWaitTimeout?: number;
  readonly timeout?: number;
  readonly retryAttempts?: number;
  readonly shardedSubscriptionMode?: 'AUTO' | 'ON' | 'OFF';
  /** Of this package only. */
  readonly localHandOver?: boolean;
}

let created = 0;

/**
 * One client, of Java's Redisson or of this package, behind the same operations. A test written for two peers holds
 * in every direction: Java and Node, Node and Java, and, as a check of the test itself, Java and Java.
 */
export class Peer {
  readonly side: 'java' | 'node';
  /** The UUID in the owner names this client writes. */
  readonly clientId: string;
  /** Settings the version of this side does not have. */
  readonly ignored: readonly string[];
  /** Its name within its driver. */
  readonly name: string;
  readonly #transport: Transport;

  private constructor(transport: Transport, name: string, created: { clientId: string; ignored: readonly string[] }) {
    this.side = transport.side;
    this.name = name;
    this.clientId = created.clientId;
    this.ignored = created.ignored;
    this.#transport = transport;
  }

  /** A new client of that driver. */
  static async create(transport: Transport, config: PeerConfig): Promise<Peer> {
    const name = `client-${++created}`;
    const reply = await transport.request({ op: 'create', client: name, thread: `create-${name}`, config });
    if (!reply.ok) throw new RemoteError(reply);
    return new Peer(transport, name, reply.result as { clientId: string; ignored: string[] });
  }

  /** One owner of locks. Calls on one thread run one after the other. */
  thread(name = 't1'): PeerThread {
    return new PeerThread(this, `${this.name}/${name}`);
  }

  /** Calls a method on the thread `t1`: for operations without an owner. */
  call<T = unknown>(path: Path, method: string, ...args: readonly unknown[]): Promise<T> {
    return this.thread().call<T>(path, method, ...args);
  }

  /** Has its client listen to the end of the object's key. @returns the ids of the listeners: two of Java, one here */
  listen(object: Path): Promise<number[]> {
    return this.request({ op: 'listen', thread: 'listen', object });
  }

  /** What its listeners were told, in order: `expired <name>`, `deleted <name>`. */
  heard(): Promise<string[]> {
    return this.request({ op: 'heard', thread: 'heard' });
  }

  /** Runs load inside the driver's process. */
  bench<K extends BenchKind>(kind: K, parameters: BenchParameters[K]): Promise<BenchResults[K]> {
    return this.request<BenchResults[K]>({ op: 'bench', kind, ...parameters });
  }

  /** Closes the client. Its holds are left to expire. */
  async shutdown(): Promise<void> {
    await this.request({ op: 'shutdown', thread: `shutdown-${this.name}` });
  }

  /** Sends an operation for this client; rejects with {@link RemoteError}. */
  async request<T>(request: DriverRequest): Promise<T> {
    const reply = await this.#transport.request({ client: this.name, ...request });
    if (!reply.ok) throw new RemoteError(reply);
    return reply.result as T;
  }

  /** As {@link request}, with the times at which the operation began and ended. */
  async timed<T>(request: DriverRequest): Promise<{ result: T; startedAt: number; endedAt: number }> {
    const reply = await this.#transport.request({ client: this.name, ...request });
    if (!reply.ok) throw new RemoteError(reply);
    return { result: reply.result as T, startedAt: reply.startedAt, endedAt: reply.endedAt };
  }
}
