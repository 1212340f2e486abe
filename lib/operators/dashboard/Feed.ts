import pDefer from 'p-defer';
import type { RedissonClient } from '../../api';
import type { Inspector, WatchListener } from '../inspection';
import { settledWithin } from '../../util/timing';
import { Health } from './Health';
import { eventsBetween, eventsOfRemoval, History } from './History';
import { type KnownLocks, ProcessEvents } from './ProcessEvents';
import { detailOf, type Fresh, track, type Tracked, withAnswers } from './rows';
import type { LockDetail, LockEvent } from './wire';

/** The methods of an Inspector that the dashboard uses. */
export type LockSource = Pick<Inspector, 'watch' | 'inspect' | 'releaseFrom' | 'close'>;

/** Time between two scans, in ms. */
export const LOOK_MS = 1_000;
/** How long watching goes on after the last page has closed, in ms: a page that reloads finds its data again. */
const LINGER_MS = 15_000;
/** How many client ids are remembered. */
const MAX_CLIENTS = 10_000;

/**
 * The data behind all pages. One watch serves them all, and it stops when no page is open.
 *
 * States: idle -> watching -> idle ... -> closed.
 */
export class Feed {
  readonly source: LockSource;
  readonly #redisson: RedissonClient;
  readonly #locks = new Map<string, Tracked>();
  readonly #clients = new Set<string>();
  readonly #history = new History();
  readonly #process: ProcessEvents;
  readonly #health: Health;
  #users = 0;
  /** Stop everything that {@link #start} has started. */
  readonly #stops: (() => void)[] = [];
  #linger: NodeJS.Timeout | undefined;
  #firstLook = pDefer<void>();
  #closed = false;
  /** Called after a change; with the name of a lock if only the events of that lock have changed. */
  onChange: (name?: string) => void = () => undefined;
  complete = false;
  truncated = false;
  /** Goes up by one with each change of the locks. */
  version = 0;

  constructor(source: LockSource, redisson: RedissonClient) {
    this.source = source;
    this.#redisson = redisson;
    const known: KnownLocks = {
      hasClient: (clientId) => clientId === redisson.getId() || this.#clients.has(clientId),
      holderOf: (name, threadId) => this.#holderOf(name, String(threadId)),
    };
    this.#process = new ProcessEvents(this.#history, known, (name) => this.onChange(name));
    this.#health = new Health(redisson, () => this.onChange());
  }

  get health(): Health['view'] {
    return this.#health.view;
  }

  /** The last known state of each object, by name. */
  get locks(): ReadonlyMap<string, Tracked> {
    return this.#locks;
  }

  /** Watches until the caller calls the returned function (once), and LINGER_MS longer. */
  use(): () => void {
    if (this.#closed) return () => undefined;
    this.#users++;
    clearTimeout(this.#linger);
    this.#start();
    return () => {
      if (--this.#users === 0) this.#linger = setTimeout(() => this.#stop(), LINGER_MS).unref();
    };
  }

  /** Resolves when all keys have been scanned once, the scan has failed, or `limitMs` have passed. */
  async firstLook(limitMs: number): Promise<void> {
    await settledWithin([this.#firstLook.promise], limitMs);
  }

  /**
   * All details of a lock: what the watch knows, its events, and what a fresh report adds: permits and the holders'
   * answers.
   * @returns `undefined`: nothing has that name
   */
  detail(name: string, fresh: Fresh | undefined): LockDetail | undefined {
    const events = this.#history.of(name);
    const known = this.#locks.get(name);
    if (known !== undefined) {
      return detailOf(
        fresh === undefined ? known : withAnswers(known, fresh, this.#process.since(fresh.report)),
        events,
      );
    }
    if (fresh === undefined || (fresh.report.kind === 'none' && events.length === 0)) return undefined;
    return detailOf(track(fresh, undefined, this.#process.since(fresh.report)), events);
  }

  /** Reads the present state of one object. */
  async inspect(name: string): Promise<Fresh> {
    const report = await this.source.inspect(name);
    return { report, at: Date.now() };
  }

  /** Adds an event for what a user of a page has done. */
  record(name: string, event: LockEvent): void {
    this.#history.add(name, event);
    this.onChange(name);
  }

  /** Stops watching for good. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    this.#firstLook.resolve();
    await this.source.close();
  }

  #start(): void {
    if (this.#stops.length > 0) return;
    this.#stops.push(
      this.#process.start(),
      this.#health.start(),
      this.#redisson.onConnectionChange(() => this.#health.update()),
      this.source.watch((event) => this.#see(event), { interval: LOOK_MS }),
    );
  }

  #stop(): void {
    clearTimeout(this.#linger);
    for (const stop of this.#stops.splice(0)) stop();
    this.#locks.clear();
    this.#clients.clear();
    this.#history.clear();
    this.complete = false;
    this.version++;
    this.#firstLook.resolve();
    this.#firstLook = pDefer();
  }

  #see(event: Parameters<WatchListener>[0]): void {
    if (event.kind === 'outage') {
      this.#health.outage(event.error);
      return this.#firstLook.resolve();
    }
    if (event.kind === 'recovered') return this.#health.outage(undefined);
    if (event.kind === 'health') return this.#health.report(event.health);
    for (const report of [...event.added, ...event.changed]) this.#add({ report, at: event.at });
    for (const { name } of event.removed) this.#remove(name, event.at);
    this.complete = event.complete;
    this.truncated = event.truncated;
    if (event.complete) this.#firstLook.resolve();
    this.version++;
    this.onChange();
  }

  #add(fresh: Fresh): void {
    const { report } = fresh;
    const { name } = report;
    for (const { clientId } of [...report.holders, ...(report.queue ?? [])]) {
      if (this.#clients.size < MAX_CLIENTS) this.#clients.add(clientId);
    }
    const before = this.#locks.get(name);
    const tracked = track(fresh, before, this.#process.since(report));
    this.#locks.set(name, tracked);
    // The first scan finds what was there before: that is no event.
    if (!this.complete && before === undefined) return;
    this.#history.add(name, ...eventsBetween(before, fresh, (owner) => this.#process.tells(name, owner)));
  }

  #remove(name: string, at: number): void {
    const before = this.#locks.get(name);
    this.#locks.delete(name);
    if (before === undefined) return;
    this.#history.add(name, ...eventsOfRemoval(before, at, (owner) => this.#process.tells(name, owner)));
  }

  /** Also finds the holder of a lock that is gone: a scan may notice the loss before the holder does. */
  #holderOf(name: string, threadId: string): string | undefined {
    const holder = this.#locks.get(name)?.report.holders.find((one) => one.threadId === threadId);
    return holder?.owner ?? this.#history.of(name).find(({ owner }) => owner?.split(':')[1] === threadId)?.owner;
  }
}
