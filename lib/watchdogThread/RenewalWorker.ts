import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { connect } from '../connection/connect';
import { Logins } from '../connection/link/Logins';
import { PortLogins } from '../connection/link/portLogins';
import { unpackSettings } from '../connection/packSettings';
import type { Settings } from '../config/Settings';
import type { LockLostError } from '../errors';
import { renewalsOf } from '../locks/kinds/clientKind';
import { type Hold, Ownership, type Renewable, type Renewal, type Renewed } from '../watchdog/Ownership';
import { STALLED } from '../watchdog/losses';
import { OwnershipTable } from '../watchdog/OwnershipTable';
import { OVERDUE_PART, Watchdog } from '../watchdog/Watchdog';
import {
  copyError,
  type Family,
  type FromThread,
  fromShared,
  type HoldCopy,
  type OwnershipCopy,
  SharedState,
  type ThreadData,
  toShared,
  type ToThread,
} from './messages';

/** Time without a connection after which the main thread is told, in ms. */
const UNREACHED_MS = 5_000;

/** What the thread has of an ownership. */
interface Entry {
  readonly id: number;
  readonly ownership: Ownership;
  maxStallMs: number;
  /** Its holds by their numbers. */
  readonly holds: Map<number, Hold>;
}

/**
 * The thread that renews the locks of a client: a watchdog like that of the main thread, with a connection of its own,
 * whose ownerships are copies. It reports each renewal and each loss to the main thread.
 *
 * Invariants: 1. it renews nothing once the main thread has given no sign of life for longer than `maxStallMs`; 2. it
 * sends no renewal of an ownership whose end the main thread had sent before `SharedState.begin`.
 */
export class RenewalWorker {
  readonly #port: MessagePort;
  readonly #shared: SharedState;
  readonly #settings: Settings;
  readonly #watchdog: Watchdog;
  readonly #table = new OwnershipTable();
  readonly #families: Readonly<Record<Family, Renewal>>;
  readonly #entries = new Map<number, Entry>();
  readonly #byOwnership = new Map<Renewable, Entry>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #gone = new WeakSet<Hold>();

  constructor({ port, memory, clientId, settings, logins: from }: ThreadData) {
    this.#port = port;
    this.#shared = new SharedState(memory);
    this.#settings = unpackSettings(settings);
    const { connectTimeout } = this.#settings;
    const logins = from && new Logins(new PortLogins(from, connectTimeout), this.#settings);
    const { executor, monitor } = connect({ ...this.#settings, commandsOnly: true, logins });
    const watchdog = (this.#watchdog = new Watchdog(this.#table, this.#settings.lockWatchdogBatchSize, clientId));
    executor.onReply = watchdog.catchUp;
    this.#families = renewalsOf(executor, (renewal) => this.#reporting(renewal));
    const tell = (): void => {
      const { lastError } = monitor;
      this.#report({ kind: 'unreached', error: lastError && copyError(lastError) });
    };
    let unreached = setTimeout(tell, UNREACHED_MS);
    monitor.onChange(({ state }) => {
      clearTimeout(unreached);
      if (state === 'ready') this.#report({ kind: 'ready' });
      else unreached = setTimeout(tell, UNREACHED_MS);
    });
  }

  /** Listens to the main thread, which ends this one. */
  run(): void {
    this.#port.on('message', (message: ToThread) => this.#handle(message));
  }

  #report(message: FromThread): void {
    this.#port.postMessage(message);
  }

  #handle({ ended, changed, settle }: ToThread): void {
    for (const id of ended) this.#end(id);
    for (const copy of changed) this.#change(copy);
    if (settle === undefined) return;
    void Promise.allSettled([...this.#underWay]).then(() => this.#report({ kind: 'settled', ticket: settle }));
  }

  #end(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#byOwnership.delete(entry.ownership);
    entry.ownership.removeAll();
    this.#table.update(entry.ownership);
  }

  #change(copy: OwnershipCopy): void {
    const { id, name, rawName, threadId, owner, values, maxStallMs } = copy;
    let entry = this.#entries.get(id);
    const isNew = entry === undefined;
    if (entry === undefined) {
      const renewal = this.#families[copy.family];
      const ownership = this.#table.open(
        new Ownership({ key: String(id), name, rawName, threadId, owner, values, renewal }),
      );
      entry = { id, ownership, maxStallMs, holds: new Map<number, Hold>() };
      this.#entries.set(id, entry);
      this.#byOwnership.set(ownership, entry);
    }
    const { ownership, holds } = entry;
    entry.maxStallMs = maxStallMs;
    const deadline = fromShared(copy.deadline);
    const numbers = new Set(copy.holds.map(({ number }) => number));
    for (const number of holds.keys()) if (!numbers.has(number)) holds.delete(number);
    for (const one of copy.holds) holds.set(one.number, this.#holdOf(entry, one));
    ownership.holds = [...holds.values()];
    ownership.deadline = Math.max(ownership.deadline, deadline);
    this.#table.update(ownership);
    // The thread has needed time to start.
    if (isNew && deadline - performance.now() < ownership.watchdogMs * OVERDUE_PART) this.#watchdog.renewNow();
  }

  /** The hold of that number, as it is now. */
  #holdOf(entry: Entry, copy: HoldCopy): Hold {
    const { number, leaseMs, watchdogMs, maxRenewals, renewals } = copy;
    const leaseEnd = fromShared(copy.leaseEnd);
    const known = entry.holds.get(number);
    if (known !== undefined) {
      known.leaseMs = leaseMs;
      known.leaseEnd = leaseEnd;
      known.renewals = Math.max(known.renewals, renewals);
      return known;
    }
    const hold: Hold = { leaseMs, leaseEnd, watchdogMs, maxRenewals, renewals, released: false };
    hold.onLost = (cause) => this.#lost(entry, number, hold, cause as LockLostError);
    return hold;
  }

  #lost(entry: Entry, number: number, hold: Hold, { why }: LockLostError): void {
    const { id, ownership } = entry;
    const usedUp = hold.maxRenewals > 0 && hold.renewals >= hold.maxRenewals;
    const how = this.#gone.has(hold) ? 'gone' : usedUp ? 'usedUp' : 'overdue';
    this.#report({ kind: 'lost', id, number, how, why });
    entry.holds.delete(number);
    if (ownership.holds.length > 0 || this.#entries.get(id) !== entry) return;
    this.#entries.delete(id);
    this.#byOwnership.delete(ownership);
  }

  /** A renewal that reports to the main thread, and does nothing for one that does not live. */
  #reporting(renewal: Renewal): Renewal {
    return {
      // Those of a batch share the limit as well.
      batchOf: (one) => `${renewal.batchOf(one)} ${this.#byOwnership.get(one)?.maxStallMs}`,
      renew: (batch, leaseMs) => {
        this.#shared.begin();
        const renewed = this.#renew(renewal, batch as readonly Ownership[], leaseMs).finally(() => this.#shared.end());
        this.#underWay.add(renewed);
        const settled = (): unknown => this.#underWay.delete(renewed);
        renewed.then(settled, settled);
        return renewed;
      },
    };
  }

  async #renew(renewal: Renewal, batch: readonly Ownership[], leaseMs: number): Promise<readonly Renewed[]> {
    for (let one = this.#next(); one !== undefined; one = this.#next()) this.#handle(one);
    const live = batch.filter((ownership) => this.#byOwnership.has(ownership));
    if (live.length === 0) return batch.map(() => true);
    const ids = live.map((ownership) => this.#byOwnership.get(ownership)!.id);
    const numbers = live.map((ownership) => Math.max(...this.#byOwnership.get(ownership)!.holds.keys()));
    const sentAt = performance.now();
    const ms = (): number => performance.now() - sentAt;
    const { stalledMs } = this.#shared;
    const maxStallMs = Math.min(...live.map((ownership) => this.#byOwnership.get(ownership)!.maxStallMs));
    if (stalledMs > maxStallMs) {
      const text =
        `its lease ran out because the event loop was blocked for longer than maxStall (${maxStallMs} ms): the watchdog ` +
        'thread stopped the renewals';
      const error = Object.assign(new Error(text), { code: STALLED });
      this.#report({ kind: 'failed', ids, ms: 0, error: copyError(error), stalledMs });
      throw error;
    }
    let found: readonly Renewed[];
    try {
      found = await renewal.renew(live, leaseMs);
    } catch (error) {
      this.#report({ kind: 'failed', ids, ms: ms(), error: copyError(error as Error) });
      throw error;
    }
    const alive = live.flatMap((_, i) => (found[i] === true ? [i] : []));
    this.#report({
      kind: 'renewed',
      ids: alive.map((i) => ids[i]!),
      numbers: alive.map((i) => numbers[i]!),
      sentAt: toShared(sentAt),
      watchdogMs: leaseMs,
      ms: ms(),
    });
    live.forEach((ownership, i) => {
      const one = found[i];
      if (one === true) return;
      for (const hold of ownership.holds) this.#gone.add(hold);
    });
    const answers = new Map(live.map((ownership, i) => [ownership, found[i]]));
    return batch.map((ownership) => answers.get(ownership) ?? true);
  }

  #next(): ToThread | undefined {
    return (receiveMessageOnPort(this.#port) as { readonly message: ToThread } | undefined)?.message;
  }
}
