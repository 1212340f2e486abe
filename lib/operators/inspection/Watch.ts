import pDefer, { type DeferredPromise } from 'p-defer';
import { callUserCode } from '../../util/userCode';
import { runOutside } from '../../util/outside';
import { settledWithin } from '../../util/timing';
import type { ObjectReport, WatchEvent, WatchListener } from './reports';
import { historyOf, isOther, type Sighting, type LastSeen } from './sightings';

/** At most this many objects are watched. */
const MAX_WATCHED = 50_000;

/** The result of one scan. */
export interface Look {
  readonly reports: readonly ObjectReport[];
  readonly truncated: boolean;
}

/** Scans all objects, given what the last scan saw. @param limit - the most objects to return */
export type LookAround = (before: LastSeen, limit: number) => Promise<Look>;

/**
 * One polling loop for all listeners.
 *
 * States: idle -> polling while there are listeners -> idle ...
 */
export class Watch {
  readonly #look: LookAround;
  readonly #listeners = new Map<symbol, { readonly listener: WatchListener; readonly interval: number }>();
  #seen: LastSeen = new Map();
  #complete = false;
  #truncated = false;
  #outage: Error | undefined;
  #polling = false;
  /** The pause between two scans. */
  #pausing: DeferredPromise<void> | undefined;

  constructor(look: LookAround) {
    this.#look = look;
  }

  /** @returns a function that removes the listener */
  add(listener: WatchListener, interval: number): () => void {
    const id = Symbol();
    this.#listeners.set(id, { listener, interval });
    runOutside(() => {
      if (this.#complete) queueMicrotask(() => this.#listeners.has(id) && this.#welcome(listener));
      this.#pausing?.resolve();
      if (!this.#polling) void this.#poll();
    });
    return () => {
      this.#listeners.delete(id);
      if (this.#listeners.size === 0) this.#pausing?.resolve();
    };
  }

  /** Removes all listeners. */
  close(): void {
    this.#listeners.clear();
    this.#pausing?.resolve();
  }

  #welcome(listener: WatchListener): void {
    const added = [...this.#seen.values()].map(({ report }) => report);
    const at = Date.now();
    tell(listener, {
      kind: 'changes',
      at,
      added,
      changed: [],
      removed: [],
      complete: true,
      truncated: this.#truncated,
    });
    if (this.#outage !== undefined) tell(listener, { kind: 'outage', at, error: this.#outage });
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#listeners.size > 0) {
      const startedAt = performance.now();
      try {
        this.#saw(await this.#look(this.#seen, MAX_WATCHED));
      } catch (error) {
        this.#troubled(error as Error);
      }
      await this.#pause(startedAt);
    }
    this.#polling = false;
    // Polling stops here: do not compare the next scan with outdated results.
    this.#seen = new Map();
    this.#complete = false;
    this.#outage = undefined;
  }

  /** Waits until the next scan is due. Adding or removing a listener can change that time. */
  async #pause(startedAt: number): Promise<void> {
    const took = performance.now() - startedAt;
    for (;;) {
      if (this.#listeners.size === 0) return;
      const interval = Math.min(...[...this.#listeners.values()].map((one) => one.interval));
      const rest = startedAt + Math.max(interval, 2 * took) - performance.now();
      if (rest <= 0) return;
      this.#pausing = pDefer();
      await settledWithin([this.#pausing.promise], rest);
    }
  }

  #saw({ reports, truncated }: Look): void {
    const at = Date.now();
    if (this.#outage !== undefined) {
      this.#outage = undefined;
      this.#tellAll({ kind: 'recovered', at });
    }
    const added: ObjectReport[] = [];
    const changed: ObjectReport[] = [];
    const seen = new Map<string, Sighting>();
    for (const report of reports) {
      const before = this.#seen.get(report.key);
      const isNews = before === undefined || isOther(before, report, at);
      // The next scan is compared with the last reported state.
      const told = isNews ? { report, at } : { report: before.report, at: before.at };
      seen.set(report.key, { ...told, ...historyOf(before, report, at) });
      if (before === undefined) added.push(report);
      else if (isNews) changed.push(report);
    }
    const removed = [...this.#seen.values()]
      .map(({ report: { name, key } }) => ({ name, key }))
      .filter(({ key }) => !seen.has(key));
    const isFirst = !this.#complete;
    const isOtherSize = truncated !== this.#truncated;
    this.#seen = seen;
    this.#complete = true;
    this.#truncated = truncated;
    if (!isFirst && !isOtherSize && added.length + changed.length + removed.length === 0) return;
    this.#tellAll({ kind: 'changes', at, added, changed, removed, complete: true, truncated });
  }

  #troubled(error: Error): void {
    const isNew = this.#outage?.message !== error.message;
    this.#outage = error;
    if (isNew) this.#tellAll({ kind: 'outage', at: Date.now(), error });
  }

  #tellAll(event: WatchEvent): void {
    for (const { listener } of [...this.#listeners.values()]) tell(listener, event);
  }
}

function tell(listener: WatchListener, event: WatchEvent): void {
  callUserCode('A watch listener', () => listener(event));
}
