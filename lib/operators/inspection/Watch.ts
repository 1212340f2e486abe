import pDefer, { type DeferredPromise } from 'p-defer';
import { callUserCode } from '../../util/userCode';
import { runOutside } from '../../util/outside';
import { settledWithin } from '../../util/timing';
import type { HealthReport, WatchEvent, WatchListener } from './reports';
import type { Scan } from './seen';
import { Sightings } from './sightings';

/** At most this many objects are watched. */
const MAX_WATCHED = 50_000;
/** Time between two looks at the health of Redis, in ms: also while a scan takes longer, or fails. */
const HEALTH_MS = 2_000;

/** The result of one scan. */
export interface Look extends Scan {
  readonly truncated: boolean;
  /** How long Redis worked for it, in ms. */
  readonly tookMs: number;
}

/** What a watch needs of its inspector. */
export interface Looks {
  /** Scans all objects. @param limit - the most objects to return */
  scan(sightings: Sightings, limit: number): Promise<Look>;
  /** How Redis is. @throws if it does not answer */
  health(): Promise<HealthReport>;
  /** A scan has found out what a restart or a failover has lost. */
  lost(loss: NonNullable<HealthReport['lost']>): void;
}

/**
 * One polling loop for all listeners.
 *
 * States: idle -> polling while there are listeners -> idle ...
 */
export class Watch {
  readonly #looks: Looks;
  readonly #listeners = new Map<symbol, { readonly listener: WatchListener; readonly interval: number }>();
  #sightings = new Sightings();
  #complete = false;
  #truncated = false;
  #outage: Error | undefined;
  #health: HealthReport = {};
  #polling = false;
  #asking = false;
  /** The pause between two scans. */
  #pausing: DeferredPromise<void> | undefined;

  constructor(looks: Looks) {
    this.#looks = looks;
  }

  /** What the scans have seen; nothing while nobody watches. */
  get sightings(): Sightings {
    return this.#sightings;
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
    const added = [...this.#sightings.last.values()].map(({ report }) => report);
    const at = Date.now();
    const truncated = this.#truncated;
    tell(listener, { kind: 'changes', at, added, changed: [], removed: [], complete: true, truncated });
    if (Object.keys(this.#health).length > 0) tell(listener, { kind: 'health', at, health: this.#health });
    if (this.#outage !== undefined) tell(listener, { kind: 'outage', at, error: this.#outage });
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    const asking = setInterval(() => void this.#askHealth(), HEALTH_MS).unref();
    while (this.#listeners.size > 0) {
      const startedAt = performance.now();
      let tookMs = 0;
      try {
        const look = await this.#looks.scan(this.#sightings, MAX_WATCHED);
        if (!this.#saw(look)) continue;
        ({ tookMs } = look);
        await this.#askHealth();
      } catch (error) {
        // The next attempt comes as soon as it may: a scan that failed has cost Redis nothing.
        this.#troubled(error as Error);
      }
      await this.#pause(startedAt, tookMs);
    }
    clearInterval(asking);
    this.#polling = false;
    // Polling stops here: do not compare the next scan with outdated results.
    this.#sightings = new Sightings();
    this.#complete = false;
    this.#outage = undefined;
    this.#health = {};
  }

  /** Waits until the next scan is due. Adding or removing a listener can change that time. */
  async #pause(startedAt: number, tookMs: number): Promise<void> {
    for (;;) {
      if (this.#listeners.size === 0) return;
      const interval = Math.min(...[...this.#listeners.values()].map((one) => one.interval));
      const rest = startedAt + Math.max(interval, 2 * tookMs) - performance.now();
      if (rest <= 0) return;
      this.#pausing = pDefer();
      await settledWithin([this.#pausing.promise], rest);
    }
  }

  /** @returns whether the scan was complete */
  #saw(look: Look): boolean {
    const at = Date.now();
    const { truncated } = look;
    const found = this.#sightings.saw(look, at);
    if (found === undefined) return false;
    if (this.#outage !== undefined) {
      this.#outage = undefined;
      this.#tellAll({ kind: 'recovered', at });
    }
    const { added, changed, removed, lost } = found;
    if (lost !== undefined) this.#looks.lost(lost);
    const isFirst = !this.#complete;
    const isOtherSize = truncated !== this.#truncated;
    this.#complete = true;
    this.#truncated = truncated;
    const isNews = isFirst || isOtherSize || added.length + changed.length + removed.length > 0;
    if (isNews) this.#tellAll({ kind: 'changes', at, added, changed, removed, complete: true, truncated });
    return true;
  }

  async #askHealth(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const health = await this.#looks.health();
      if (JSON.stringify(health) === JSON.stringify(this.#health)) return;
      this.#health = health;
      this.#tellAll({ kind: 'health', at: Date.now(), health });
    } catch {
      // The scan fails as well, and tells why.
    } finally {
      this.#asking = false;
    }
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
