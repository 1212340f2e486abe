import { MessageChannel } from 'node:worker_threads';
import { ConnectionMonitor, type Connections } from '../connection/ConnectionMonitor';
import { Executor, type ExecutorSettings } from '../connection/Executor';
import { replyError } from '../connection/link/driverError';
import type { Link, LinkEvents } from '../connection/link/Link';
import { unsent } from '../connection/link/replyErrors';
import type { Subscriber, SubscriberEvents } from '../connection/pubsub/Subscriber';
import { ShutdownError } from '../errors';
import { fromBytes, toBytes } from './bytes';
import type { Failures } from './Failures';
import type { Listener, MemoryServer } from './MemoryServer';
import { RedisError, type Reply, Status } from './store/replies';

/** The connections of a client to a store in memory. They are there at once, and are never lost. */
export function connectMemory(server: MemoryServer, settings: ExecutorSettings, failures: Failures): Connections {
  const link = new MemoryLink(server);
  const executor = new Executor(link, settings);
  failures.attach(executor);
  const monitor = new ConnectionMonitor(link);
  // As with a real server: whoever makes the client can still add a listener.
  void Promise.resolve().then(() => link.events?.ready());
  return {
    executor,
    subscriber: new MemorySubscriber(server),
    monitor,
    keyEvents: { database: 0, open: () => new MemorySubscriber(server) },
  };
}

/** Runs commands at once; their replies come in a microtask, whatever becomes of timers. */
class MemoryLink implements Link {
  events: LinkEvents | undefined;
  readonly publishCommand = 'PUBLISH';
  readonly address = 'memory';
  readonly syncTimeout = 0;
  readonly refusal = undefined;
  readonly lastError = undefined;
  readonly #server: MemoryServer;
  #closed = false;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  get usable(): boolean {
    return !this.#closed;
  }

  canSend(): boolean {
    return !this.#closed;
  }

  send(command: string, args: (string | number | Buffer)[]): Promise<unknown> {
    if (this.#closed) return Promise.reject(unsent());
    const reply = this.#server.run(command, args.map(toBytes));
    return reply instanceof RedisError
      ? Promise.reject(replyError(fromBytes(reply.message)))
      : Promise.resolve(plain(reply));
  }

  serverOf(): string {
    return '';
  }

  slotOf(): number {
    return 0;
  }

  unanswered(): void {
    // Every command is answered.
  }

  /** By a message to itself: fake timers hold `setImmediate` back. */
  laterTurn(): Promise<void> {
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.once('message', () => {
        port1.close();
        resolve();
      });
      port2.postMessage(undefined);
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }
}

class MemorySubscriber implements Subscriber, Listener {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  readonly #server: MemoryServer;
  #closed = false;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    this.#server.listen(channel, this);
    return Promise.resolve();
  }

  unsubscribe(channel: string): void {
    this.#server.ignore(this, channel);
  }

  receive(channel: string, message: string): void {
    if (!this.#closed) this.events?.message(channel, message);
  }

  probe(): void {
    // It is never silent.
  }

  close(): void {
    this.#closed = true;
    this.#server.ignore(this);
  }
}

/** A reply as ioredis gives it. */
function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return fromBytes(reply);
  if (reply instanceof Status) return fromBytes(reply.text);
  if (reply instanceof RedisError) return replyError(fromBytes(reply.message));
  return typeof reply === 'object' && reply !== null ? reply.map(plain) : reply;
}
