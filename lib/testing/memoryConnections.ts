import { MessageChannel } from 'node:worker_threads';
import { ConnectionMonitor, type Connections } from '../connection/ConnectionMonitor';
import { Executor, type ExecutorSettings } from '../connection/Executor';
import { replyError } from '../connection/link/driverError';
import type { Link } from '../connection/link/Link';
import { unsent } from '../connection/link/replyErrors';
import type { Subscriber } from '../connection/pubsub/Subscriber';
import { ShutdownError } from '../errors';
import { fromBytes, toBytes } from './bytes';
import type { Failures } from './Failures';
import type { Listener, MemoryServer } from './MemoryServer';
import { RedisError, type Reply, Status } from './store/replies';

/** The connections of a client to a store in memory. */
export interface MemoryConnections extends Connections {
  /** The store has lost its data: counts as another connection. */
  lose(): void;
}

/** Connects a client to a store in memory. The connections are there at once. */
export function connectMemory(server: MemoryServer, settings: ExecutorSettings, failures: Failures): MemoryConnections {
  const link = memoryLink(server);
  const executor = new Executor(link, settings);
  failures.attach(executor);
  const monitor = new ConnectionMonitor(link);
  // As with a real server: the caller that makes the client can still add a listener.
  void Promise.resolve().then(() => link.events?.ready());
  return {
    executor,
    subscriber: memorySubscriber(server),
    monitor,
    lose: () => link.events?.lost(),
    keyEvents: { database: 0, open: () => memorySubscriber(server) },
  };
}

/** Runs commands at once; their replies come in a microtask, whatever becomes of timers. */
function memoryLink(server: MemoryServer): Link {
  let closed = false;
  return {
    events: undefined,
    publishCommand: 'PUBLISH',
    address: 'memory',
    syncTimeout: 0,
    refusal: undefined,
    lastError: undefined,
    get ready() {
      return !closed;
    },
    canSend: () => !closed,
    send(command, args) {
      if (closed) return Promise.reject(unsent());
      const reply = server.run(command, args.map(toBytes));
      return reply instanceof RedisError
        ? Promise.reject(replyError(fromBytes(reply.message)))
        : Promise.resolve(plain(reply));
    },
    // Every command is answered.
    unanswered: () => undefined,
    // By a message to itself: fake timers hold `setImmediate` back.
    laterTurn: () =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.once('message', () => {
          port1.close();
          resolve();
        });
        port2.postMessage(undefined);
      }),
    close() {
      closed = true;
      return Promise.resolve();
    },
  };
}

function memorySubscriber(server: MemoryServer): Subscriber {
  let closed = false;
  const listener: Listener = (channel, message) => {
    if (!closed) subscriber.events?.message(channel, message);
  };
  const subscriber: Subscriber = {
    events: undefined,
    countsReceivers: true,
    subscribe(channel) {
      if (closed) return Promise.reject(new ShutdownError());
      server.listen(channel, listener);
      return Promise.resolve();
    },
    unsubscribe: (channel) => server.ignore(listener, channel),
    // It is never silent.
    probe: () => undefined,
    close() {
      closed = true;
      server.ignore(listener);
    },
  };
  return subscriber;
}

/** A reply as ioredis gives it. */
function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return fromBytes(reply);
  if (reply instanceof Status) return fromBytes(reply.text);
  if (reply instanceof RedisError) return replyError(fromBytes(reply.message));
  return typeof reply === 'object' && reply !== null ? reply.map(plain) : reply;
}
