import type { Loop, SimProcess } from '../engine/Loop';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import type { ScriptCall, SimServer } from '../server/SimServer';
import type { Oracle } from './Oracle';

/** A waiter is no longer judged so long before its wait ends, in ms. */
const END_MS = 100;

/** The scripts that may let somebody in, of whichever kind of fair lock. */
const ACQUIRES = new Set(['acquire', 'tryAcquire']);
const LEAVES = 'abandon';
/** A waiter, since a script put it into the queue for the first time. */
interface Arrival {
  readonly owner: string;
  /** In ms of the world. */
  readonly at: number;
  /** When its wait ends, in ms of the world. */
  readonly until: number;
}

/** What is known of a client. */
export interface WaiterClient {
  readonly process: SimProcess;
  /** Whether it lives, and does not close. */
  readonly running: boolean;
}

/**
 * Judges the order of fair locks where it is made: in the server. Nobody may be let in as long as somebody waits who
 * was put into the queue before, and has waited since then without interruption:
 *
 * - its process was neither stopped nor cut off from this server, and the server neither paused, restarted, failed over
 *   nor refused anything, from a while before it came
 * - it has not left by itself, and the time for which it waits is not over
 *
 * It keeps the arrivals itself. A waiter that a script takes out of the queue is still waiting. One that does not queue
 * (`tryLock()`) arrives when it is let in.
 */
export class FairOrder {
  /** By server and name: those who wait, in their order. */
  readonly #queues = new Map<string, Arrival[]>();
  readonly #loop: Loop;
  readonly #oracle: Oracle;
  /** What a waiter sends that waits without limit, in ms. */
  readonly #unlimitedMs: number;
  readonly #clientOf: (id: string) => WaiterClient | undefined;

  constructor(loop: Loop, oracle: Oracle, unlimitedMs: number, clientOf: (id: string) => WaiterClient | undefined) {
    this.#loop = loop;
    this.#oracle = oracle;
    this.#unlimitedMs = unlimitedMs;
    this.#clientOf = clientOf;
  }

  /** A script is about to run. @returns what is told its reply; `undefined`: it does not concern fair locks */
  observe(server: SimServer, { script, keys, args }: ScriptCall): ((reply: Reply) => void) | undefined {
    const [name = '', list = ''] = keys;
    const [kind = '', what = ''] = script.split('.');
    if (!kind.endsWith('airLock')) return undefined;
    const queue = this.#queueOf(`${server.name}/${name}`);
    const leaves = what === LEAVES;
    if (!leaves && !ACQUIRES.has(what)) return undefined;
    const owner = args[1]!;
    if (leaves) {
      return (reply) => {
        if (!(reply instanceof RedisError)) this.#remove(queue, owner);
      };
    }
    const held = server.store.hash(name)?.has(owner) ?? false;
    const queued = server.store.list(list)?.includes(owner) ?? false;
    return (reply) => {
      if (reply instanceof RedisError) return;
      if (reply === null || Array.isArray(reply)) {
        if (!held) this.#letIn(server, name, queue, owner);
        this.#remove(queue, owner);
      } else if (server.store.list(list)?.includes(owner)) {
        this.#arrive(server, queue, owner, queued ? list : undefined, Number(args[2]));
      }
      if (server.store.list(list) === undefined) this.#prune(server, queue);
    };
  }

  #queueOf(key: string): Arrival[] {
    let queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, (queue = []));
    return queue;
  }

  /** @param list - the key of the queue, if the owner was in it before */
  #arrive(server: SimServer, arrivals: Arrival[], owner: string, list: string | undefined, waitMs: number): void {
    const known = arrivals.find((arrival) => arrival.owner === owner);
    // It has lost its place for a reason: then it has arrived anew.
    if (known !== undefined && (list !== undefined || this.#waits(server, known))) return;
    this.#remove(arrivals, owner);
    const { now } = this.#loop;
    const until = waitMs === this.#unlimitedMs ? Infinity : now + waitMs;
    // A server that has lost its last writes may know the place of somebody who had got the lock.
    const order = (list === undefined ? undefined : server.store.list(list)) ?? [];
    const behind = new Set(order.slice(order.indexOf(owner) + 1));
    const at = list === undefined ? -1 : arrivals.findIndex((arrival) => behind.has(arrival.owner));
    arrivals.splice(at < 0 ? arrivals.length : at, 0, { owner, at: now, until });
  }

  #letIn(server: SimServer, name: string, arrivals: readonly Arrival[], owner: string): void {
    for (const arrival of arrivals) {
      if (arrival.owner === owner) return;
      if (!this.#waits(server, arrival)) continue;
      this.#oracle.violate(
        `${owner} gets the fair lock ${server.name}/${name} before ${arrival.owner}, which waits since ${arrival.at.toFixed(3)}`,
      );
    }
  }

  /** Whether it waits, and has waited without interruption. */
  #waits(server: SimServer, { owner, at, until }: Arrival): boolean {
    if (this.#loop.now > until - END_MS) return false;
    const client = this.#clientOf(owner.slice(0, owner.lastIndexOf(':')));
    return client !== undefined && client.running && client.process.disturbedUntil < at && server.disturbedUntil < at;
  }

  #remove(arrivals: Arrival[], owner: string): void {
    const at = arrivals.findIndex((arrival) => arrival.owner === owner);
    if (at >= 0) arrivals.splice(at, 1);
  }

  /** The queue is empty: those who do not wait any more have no place. */
  #prune(server: SimServer, arrivals: Arrival[]): void {
    const waiting = arrivals.filter((arrival) => this.#waits(server, arrival));
    arrivals.splice(0, Infinity, ...waiting);
  }
}
