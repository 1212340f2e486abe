import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { connect } from '../connection/connect';
import { Logins } from '../connection/link/Logins';
import { PortLogins } from '../connection/link/portLogins';
import { unpackSettings } from '../connection/packSettings';
import type { RenewalFamily } from '../kinds/Kind';
import { renewalsOf } from '../kinds/clientKind';
import { Alarm } from '../util/Alarm';
import type { Charge, Renewal, Renewed } from '../watchdog/Ownership';
import { confirmedUntil } from '../util/duration';
import { stallFailure } from '../watchdog/OwnershipTable';
import { OVERDUE_PART, Renewals } from '../watchdog/Watchdog';
import {
  copyError,
  type EntryCopy,
  type FromThread,
  fromShared,
  SharedState,
  type ThreadData,
  toShared,
  type ToThread,
} from './messages';

/** Time without a connection after which that is reported to the main thread, in ms. */
const UNREACHED_MS = 5_000;

/** One entry of the list. */
interface Entry extends Charge {
  copy: EntryCopy;
  /** Monotonic time until which Redis keeps the lock at least. It is not renewed after that. */
  deadline: number;
  /** How often it was renewed. */
  renewals: number;
}

/**
 * The thread that renews the locks of a client: a flat list of what to renew, and a connection of its own. It reports
 * the answer to each batch to the main thread, which decides what they mean.
 *
 * Invariants: 1. it renews nothing once the main thread has given no sign of life for longer than `maxStallMs`; 2. it
 * sends no renewal of an ownership whose end the main thread had sent before `SharedState.begin`; 3. it renews nothing
 * past its deadline, and nothing whose renewals are used up, whatever the main thread does.
 */
export class RenewalWorker {
  readonly #port: MessagePort;
  readonly #shared: SharedState;
  readonly #families: Readonly<Record<RenewalFamily, Renewal>>;
  readonly #entries = new Map<number, Entry>();
  readonly #alarm: Alarm = new Alarm(() => this.#renewals.run(performance.now()));
  readonly #renewals: Renewals<Entry>;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor({ port, memory, settings: packed, logins: from }: ThreadData) {
    this.#port = port;
    this.#shared = new SharedState(memory);
    const settings = unpackSettings(packed);
    const logins = from && new Logins(new PortLogins(from, settings.connectTimeout), settings);
    const { executor, monitor } = connect({ ...settings, commandsOnly: true, logins });
    this.#families = renewalsOf(executor, (renewal) => renewal);
    this.#renewals = new Renewals({
      batchSize: settings.lockWatchdogBatchSize,
      all: () => this.#entries.values(),
      wanted: (entry) => this.#mayRenew(entry),
      send: (batch, watchdogMs) => this.#send(batch, watchdogMs),
      rearm: () => this.#alarm.set(this.#renewals.nextAt),
    });
    const report = (): void => {
      const { lastError } = monitor;
      this.#report({ kind: 'unreached', error: lastError && copyError(lastError) });
    };
    let unreached = setTimeout(report, UNREACHED_MS);
    monitor.onChange(({ state }) => {
      clearTimeout(unreached);
      if (state !== 'ready') unreached = setTimeout(report, UNREACHED_MS);
    });
    // The main thread ends this one.
    port.on('message', (message: ToThread) => this.#handle(message));
  }

  #report(message: FromThread): void {
    this.#port.postMessage(message);
  }

  #handle({ ended, changed, settle }: ToThread): void {
    for (const id of ended) {
      const entry = this.#entries.get(id);
      if (entry === undefined) continue;
      this.#entries.delete(id);
      this.#renewals.place(entry, 0);
    }
    for (const copy of changed) this.#change(copy);
    if (settle === undefined) return;
    void Promise.allSettled([...this.#underWay]).then(() => this.#report({ kind: 'settled', ticket: settle }));
  }

  #change(copy: EntryCopy): void {
    const { id, rawName, owner, values, family, watchdogMs } = copy;
    const deadline = fromShared(copy.deadline);
    let entry = this.#entries.get(id);
    const isNew = entry === undefined;
    if (entry === undefined) {
      const charge = { rawName, owner, values, renewal: this.#families[family] };
      entry = { ...charge, copy, deadline, renewals: 0, renewalMs: 0, failure: undefined, renewing: undefined };
      this.#entries.set(id, entry);
    }
    entry.copy = copy;
    entry.deadline = Math.max(entry.deadline, deadline);
    this.#alarm.setBy(this.#renewals.place(entry, watchdogMs));
    // The thread has needed time to start.
    if (isNew && deadline - performance.now() < watchdogMs * OVERDUE_PART) this.#renewals.renewNow();
  }

  #mayRenew({ copy, deadline, renewals }: Entry): boolean {
    if (deadline <= performance.now()) return false;
    if (renewals >= copy.firstLimit) this.#report({ kind: 'usedUp', id: copy.id });
    return renewals < copy.lastLimit;
  }

  #send(batch: readonly Entry[], watchdogMs: number): Promise<void> {
    this.#shared.begin();
    const sent = this.#renew(batch, watchdogMs).finally(() => this.#shared.end());
    this.#underWay.add(sent);
    const settled = (): unknown => this.#underWay.delete(sent);
    sent.then(settled, settled);
    return sent;
  }

  async #renew(batch: readonly Entry[], watchdogMs: number): Promise<void> {
    for (let one = this.#next(); one !== undefined; one = this.#next()) this.#handle(one);
    const { stalledMs } = this.#shared;
    const live: Entry[] = [];
    for (const entry of batch) {
      const { id, maxStallMs } = entry.copy;
      if (this.#entries.get(id) !== entry) continue;
      if (stalledMs <= maxStallMs) live.push(entry);
      else this.#renewals.failed([entry], this.#failed([id], undefined, stallFailure(maxStallMs)));
    }
    if (live.length === 0) return;
    const copies = live.map(({ copy }) => copy);
    const ids = copies.map(({ id }) => id);
    const sentAt = performance.now();
    let found: readonly Renewed[];
    try {
      found = await live[0]!.renewal.renew(live, watchdogMs);
    } catch (error) {
      throw this.#failed(ids, performance.now() - sentAt, error as Error);
    }
    const ms = performance.now() - sentAt;
    this.#report({ kind: 'answered', ids, found, sentAt: toShared(sentAt), watchdogMs, ms });
    live.forEach((entry, i) => {
      entry.failure = undefined;
      if (found[i] === true) {
        entry.renewals++;
        entry.deadline = Math.max(entry.deadline, confirmedUntil(sentAt, watchdogMs));
      }
      // Gone, unless something has changed since. The main thread ends it, or sets another deadline.
      else if (entry.copy === copies[i]) entry.deadline = -Infinity;
    });
  }

  #failed(ids: readonly number[], ms: number | undefined, error: Error): Error {
    this.#report({ kind: 'failed', ids, ms, error: copyError(error) });
    return error;
  }

  #next(): ToThread | undefined {
    return (receiveMessageOnPort(this.#port) as { readonly message: ToThread } | undefined)?.message;
  }
}
