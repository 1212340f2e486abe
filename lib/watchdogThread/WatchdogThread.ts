import type { MessagePort, Worker } from 'node:worker_threads';
import type { LoginSource } from '../connection/link/loginSources';
import { serveLogins } from '../connection/link/portLogins';
import type { PackedSettings } from '../connection/packSettings';
import type { ClientContext } from '../kinds/ClientContext';
import type { RenewalFamily } from '../kinds/Kind';
import { tellRenewalTook } from '../util/channels';
import { NO_LEASE } from '../util/duration';
import { runOutside } from '../util/outside';
import type { Ownership, Renewal, Renewed } from '../watchdog/Ownership';
import type { RenewalThread } from '../watchdog/Watchdog';
import {
  type EntryCopy,
  errorOf,
  type FromThread,
  fromShared,
  SharedState,
  type ThreadData,
  toShared,
  type ToThread,
} from './messages';
import { workerFile } from './workerFile';

/** The shortest and the longest pause between two signs of life, in ms, and how many there are per `maxStall`. */
const MIN_BEAT_MS = 10;
const MAX_BEAT_MS = 1_000;
const BEATS_PER_STALL = 5;

/** What the thread needs of its client. */
export interface ThreadClient extends Pick<ClientContext, 'watchdog' | 'ownerships' | 'renewals'> {
  /** Where its logins come from, where passwords change. */
  readonly logins: LoginSource | undefined;
}

/** Who started the thread, and is told when it does not work. */
interface Starter {
  readonly clientId: string;
  /** It runs, but cannot do its work. */
  warn(why: string, error: Error | undefined): void;
  /** It has ended by itself. */
  failed(why: string, error: Error | undefined): void;
}

/** What the thread knows of an ownership. */
interface Entry {
  readonly id: number;
  readonly ownership: Ownership;
  /** How many of the thread's renewals of it have been handled. */
  renewals: number;
}

/**
 * The main side of the thread that renews locks. It sends the thread what to renew, gives signs of life, and passes the
 * thread's reports on to the watchdog, which has the last word: what the thread has not confirmed in time is lost.
 *
 * A change is sent in the microtasks of the same turn, before the caller of `lock()` can block the event loop. That a
 * lock was released is sent later: a renewal of a lock that is gone does nothing.
 *
 * States: running -> failed (the watchdog of the main thread takes over) | closed.
 */
export class WatchdogThread implements RenewalThread {
  readonly #starter: Starter;
  readonly #client: ThreadClient;
  readonly #families: ReadonlyMap<Renewal, RenewalFamily>;
  readonly #shared = new SharedState();
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #receive: (port: MessagePort) => { readonly message: FromThread } | undefined;
  readonly #entries = new Map<Ownership, Entry>();
  readonly #byId = new Map<number, Entry>();
  readonly #dirty = new Set<Ownership>();
  readonly #tickets = new Map<number, () => void>();
  /** By their keys: the ownerships that have ended, whose last renewal may be under way. */
  readonly #settling = new Map<string, Promise<void>>();
  #ended: Entry[] = [];
  #count = 0;
  #flushing = false;
  #beat: NodeJS.Timeout | undefined;
  #beatMs = Infinity;
  #over = false;
  #stopServing: (() => void) | undefined;

  /** Starts the thread. @throws errors of Node, if it may not or cannot start one */
  constructor(starter: Starter, client: ThreadClient, settings: PackedSettings) {
    this.#starter = starter;
    this.#client = client;
    // Not before it is needed: most clients have no such thread.
    const { MessageChannel, receiveMessageOnPort, Worker } = process.getBuiltinModule('node:worker_threads');
    this.#receive = receiveMessageOnPort;
    this.#shared.beat();
    const { port1, port2 } = new MessageChannel();
    const families = Object.keys(client.renewals) as RenewalFamily[];
    this.#families = new Map(families.map((family) => [client.renewals[family], family]));
    const logins = client.logins && new MessageChannel();
    if (logins !== undefined) this.#stopServing = runOutside(() => serveLogins(client.logins!, logins.port1));
    const workerData: ThreadData = { port: port2, memory: this.#shared.memory, settings, logins: logins?.port2 };
    this.#port = port1;
    const options = {
      name: 'ioredisson-watchdog',
      workerData,
      transferList: [port2, ...(logins ? [logins.port2] : [])],
    };
    this.#worker = runOutside(() => new Worker(workerFile(), options));
    runOutside(() => {
      port1.on('message', (message: FromThread) => this.#handle(message));
      this.#worker.on('error', (error) => this.#fail('it has failed', error));
      this.#worker.on('exit', () => this.#fail('it has ended', undefined));
    });
    port1.unref();
    this.#worker.unref();
  }

  changed(ownership: Ownership): void {
    if (this.#over || (ownership.maxStallMs === 0 && !this.#entries.has(ownership))) return;
    this.#dirty.add(ownership);
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(this.#flush);
  }

  ended(ownership: Ownership): void {
    this.#dirty.delete(ownership);
    const entry = this.#entries.get(ownership);
    if (entry === undefined) return;
    this.#entries.delete(ownership);
    this.#byId.delete(entry.id);
    this.#ended.push(entry);
  }

  receive(): void {
    while (!this.#over) {
      const one = this.#receive(this.#port);
      if (one === undefined) return;
      this.#handle(one.message);
    }
  }

  settled({ key }: Ownership): Promise<void> | undefined {
    this.#flush();
    return this.#settling.get(key);
  }

  async close(): Promise<void> {
    this.#end();
    await this.#worker.terminate();
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    if (this.#over || (this.#dirty.size === 0 && this.#ended.length === 0)) return;
    const changed: EntryCopy[] = [];
    for (const ownership of this.#dirty) {
      const { maxStallMs } = ownership;
      if (maxStallMs > 0) changed.push(this.#copy(ownership, maxStallMs));
      else this.ended(ownership);
    }
    this.#dirty.clear();
    this.#send({ ended: this.#ended.map(({ id }) => id), changed });
    this.#settle(this.#ended);
    this.#ended = [];
    this.#shared.beat();
  };

  /** Asks when the renewals that are under way now have ended, since one of them may be of what has just ended. */
  #settle(ended: readonly Entry[]): void {
    // The thread counts a batch before it reads what is sent: one that it has not counted yet will not contain what has
    // ended by now.
    if (ended.length === 0 || this.#shared.underWay === 0) return;
    const ticket = ++this.#count;
    this.#send({ ended: [], changed: [], settle: ticket });
    const settling = new Promise<void>((resolve) => this.#tickets.set(ticket, resolve));
    const keys = ended.map(({ ownership }) => ownership.key);
    for (const key of keys) this.#settling.set(key, settling);
    void settling.then(() => {
      for (const key of keys) if (this.#settling.get(key) === settling) this.#settling.delete(key);
    });
  }

  #copy(ownership: Ownership, maxStallMs: number): EntryCopy {
    let entry = this.#entries.get(ownership);
    if (entry === undefined) {
      entry = { id: ++this.#count, ownership, renewals: 0 };
      this.#entries.set(ownership, entry);
      this.#byId.set(entry.id, entry);
    }
    const beatMs = Math.max(MIN_BEAT_MS, Math.min(MAX_BEAT_MS, maxStallMs / BEATS_PER_STALL));
    if (this.#beat === undefined || beatMs < this.#beatMs) this.#beatEvery(beatMs);
    const { rawName, owner, values, renewal, deadline, watchdogMs, holds } = ownership;
    let firstLimit = Infinity;
    let lastLimit = 0;
    for (const hold of holds) {
      if (hold.leaseMs !== NO_LEASE) continue;
      const limit = hold.maxRenewals === 0 ? Infinity : entry.renewals + hold.maxRenewals - hold.renewals;
      firstLimit = Math.min(firstLimit, limit);
      lastLimit = Math.max(lastLimit, limit);
    }
    return {
      id: entry.id,
      rawName,
      owner,
      values,
      family: this.#families.get(renewal)!,
      watchdogMs,
      maxStallMs,
      deadline: toShared(deadline),
      firstLimit,
      lastLimit,
    };
  }

  #send(message: ToThread): void {
    this.#port.postMessage(message);
  }

  /** Gives signs of life from now on, as long as the thread has something to renew. */
  #beatEvery(ms: number): void {
    clearInterval(this.#beat);
    this.#beatMs = ms;
    const beat = (): void => {
      this.#shared.beat();
      this.#flush();
      if (this.#entries.size > 0) return;
      clearInterval(this.#beat);
      this.#beat = undefined;
    };
    this.#beat = runOutside(() => setInterval(beat, ms)).unref();
  }

  #handle(message: FromThread): void {
    if (this.#over) return;
    const { clientId } = this.#starter;
    const { watchdog } = this.#client;
    switch (message.kind) {
      case 'unreached':
        return this.#starter.warn('it has no connection to Redis', message.error && errorOf(message.error));
      case 'settled':
        this.#tickets.get(message.ticket)?.();
        this.#tickets.delete(message.ticket);
        return;
      case 'answered':
        return this.#answered(message);
      case 'failed': {
        const failure = errorOf(message.error);
        if (message.ms !== undefined) tellRenewalTook(clientId, message.ids.length, message.ms, failure);
        return watchdog.failedInThread(this.#ownershipsOf(message.ids), failure);
      }
      case 'usedUp':
        for (const one of this.#ownershipsOf([message.id])) if (watchdog.giveUpUsed(one)) this.changed(one);
        return;
    }
  }

  #answered({ ids, found, sentAt, watchdogMs, ms }: FromThread & { readonly kind: 'answered' }): void {
    const asked: Ownership[] = [];
    const answers: Renewed[] = [];
    ids.forEach((id, i) => {
      const entry = this.#byId.get(id);
      // Released meanwhile, and perhaps acquired again.
      if (entry === undefined) return;
      if (found[i] === true) entry.renewals++;
      asked.push(entry.ownership);
      answers.push(found[i]!);
    });
    tellRenewalTook(this.#starter.clientId, ids.length, ms);
    this.#client.watchdog.answered(asked, answers, fromShared(sentAt), watchdogMs);
  }

  /** Those that have not been released meanwhile. */
  #ownershipsOf(ids: readonly number[]): readonly Ownership[] {
    return ids.flatMap((id) => this.#byId.get(id)?.ownership ?? []);
  }

  /** The thread has ended by itself. */
  #fail(why: string, error: Error | undefined): void {
    if (this.#over) return;
    this.#end();
    const { watchdog } = this.#client;
    watchdog.thread = undefined;
    watchdog.renewNow();
    this.#starter.failed(why, error);
  }

  #end(): void {
    this.#over = true;
    clearInterval(this.#beat);
    this.#port.close();
    this.#stopServing?.();
    for (const resolve of this.#tickets.values()) resolve();
    this.#tickets.clear();
  }
}
