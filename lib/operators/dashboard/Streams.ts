import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { keepNewest } from '../../util/collections';
import type { Feed } from './Feed';
import { type Query, select, type Selection } from './query';
import { type Fresh, rowOf } from './rows';
import type { HealthView, LockDetail, StreamMessages, WindowView } from './wire';

/** Changes within this time are sent together, in ms. */
const GATHER_MS = 200;
/** How often something is sent, so that a dead connection is noticed, in ms. */
const HEARTBEAT_MS = 15_000;
/** A stream that lives longer is ended, in ms. Its page reconnects, and is authorized again. */
const MAX_LIFE_MS = 10 * 60_000;
/** How often a lock that a page shows in full is read for details that the watch does not have, in ms. */
const FRESH_MS = 2_000;
/** How often the holders of a lock that a page shows in full are asked, in ms. */
const ASK_MS = 5_000;
/** How many locks are read like this at a time. */
const MAX_FRESH = 50;
/** How many filtered and sorted lists are kept. */
const MAX_SELECTIONS = 16;

/** A reader with more unread data than this is dropped, in bytes. It reconnects and starts anew. */
const MAX_UNREAD = 4 * 1024 * 1024;
/** How long a browser waits before it reconnects, in ms. */
const RETRY_MS = 2_000;

/** A part of the list that pages show, and what was last sent to them. */
interface View {
  readonly query: Query;
  readonly streams: Set<EventStream>;
  shown: Omit<WindowView, 'now'>;
  version: number;
}

/** A lock that pages show in full. */
interface Focus {
  readonly name: string;
  readonly streams: Set<EventStream>;
  /** What was last sent to them; `null`: nothing has that name. */
  lock?: LockDetail | null;
  fresh?: Fresh;
  asked: number;
  asking: boolean;
  timer?: NodeJS.Timeout;
}

/** All open pages. A change is computed and serialized once for all pages that show the same, however many they are. */
export class Streams {
  readonly #feed: Feed;
  readonly #max: number;
  readonly #all = new Map<EventStream, NodeJS.Timeout>();
  readonly #views = new Map<string, View>();
  readonly #focuses = new Map<string, Focus>();
  readonly #selections = new Map<string, Selection & { readonly version: number }>();
  #health: HealthView | undefined;
  #gather: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(feed: Feed, max: number) {
    this.#feed = feed;
    this.#max = max;
    feed.onChange = (name) => {
      // Events of a lock that no page shows in full are for later.
      if (this.#all.size > 0 && (name === undefined || this.#focuses.has(name))) this.#soon();
    };
  }

  get isFull(): boolean {
    return this.#all.size >= this.#max;
  }

  /** Starts a stream. @param name - the lock that the page shows in full, if any */
  open(response: ServerResponse, query: Query, name: string | undefined): void {
    const release = this.#feed.use();
    const key = JSON.stringify(query);
    const { version } = this.#feed;
    const view = this.#views.get(key) ?? { query, streams: new Set(), shown: this.part(query), version };
    this.#views.set(key, view);
    const focus = name === undefined ? undefined : this.#focusOf(name);
    const stream = new EventStream(response, () => {
      clearTimeout(this.#all.get(stream));
      this.#all.delete(stream);
      view.streams.delete(stream);
      if (view.streams.size === 0) this.#views.delete(key);
      focus?.streams.delete(stream);
      if (focus?.streams.size === 0) {
        clearTimeout(focus.timer);
        this.#focuses.delete(focus.name);
      }
      if (this.#all.size === 0) this.#rest();
      release();
    });
    this.#all.set(stream, setTimeout(() => stream.end(), MAX_LIFE_MS).unref());
    view.streams.add(stream);
    focus?.streams.add(stream);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    stream.send(healthMessage(this.#feed.health));
    // What the other pages of this view have: the changes that follow are relative to it.
    stream.send(encode('window', { now: Date.now(), ...view.shown }));
    if (focus !== undefined) {
      if (focus.lock !== undefined) stream.send(lockMessage(focus));
      this.#refresh(focus);
    }
    this.#soon();
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of this.#all.keys()) stream.end();
    this.#rest();
  }

  #rest(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#gather);
    this.#heartbeat = undefined;
    this.#gather = undefined;
    this.#selections.clear();
  }

  #soon(): void {
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined;
      this.#tell();
    }, GATHER_MS).unref();
  }

  #tell(): void {
    const { health } = this.#feed;
    if (health !== this.#health) {
      this.#health = health;
      const message = healthMessage(health);
      for (const stream of this.#all.keys()) stream.send(message);
    }
    for (const view of this.#views.values()) this.#tellView(view);
    for (const focus of this.#focuses.values()) this.#tellFocus(focus);
  }

  #tellView(view: View): void {
    if (view.version === this.#feed.version) return;
    const { rows: before, ...headBefore } = view.shown;
    view.version = this.#feed.version;
    view.shown = this.part(view.query);
    const { rows: all, ...head } = view.shown;
    const known = new Map(before.map((row) => [row.name, row]));
    const rows = all.filter((row) => !isDeepStrictEqual(row, known.get(row.name)));
    const order = all.map(({ name }) => name);
    const isOrdered = isDeepStrictEqual(order, [...known.keys()]);
    if (isOrdered && rows.length === 0 && isDeepStrictEqual(head, headBefore)) return;
    const message = encode('change', { now: Date.now(), ...head, rows, ...(!isOrdered && { order }) });
    for (const stream of view.streams) stream.send(message);
  }

  #focusOf(name: string): Focus {
    const focus = this.#focuses.get(name) ?? { name, streams: new Set(), asked: -Infinity, asking: false };
    this.#focuses.set(name, focus);
    return focus;
  }

  #tellFocus(focus: Focus): void {
    this.#refresh(focus);
    const lock = this.#feed.detail(focus.name, focus.fresh) ?? null;
    if ((lock === null && focus.fresh === undefined) || isDeepStrictEqual(lock, focus.lock)) return;
    focus.lock = lock;
    const message = lockMessage(focus);
    for (const stream of focus.streams) stream.send(message);
  }

  /** Reads the object itself. Only this gives permits, objects outside the list, and the holders' answers. */
  #refresh(focus: Focus): void {
    const known = this.#feed.locks.get(focus.name)?.report;
    const isFree = known !== undefined && known.holders.length === 0 && known.kind !== 'permitExpirableSemaphore';
    if (isFree || focus.asking) return;
    const pause = known === undefined || known.kind === 'permitExpirableSemaphore' ? FRESH_MS : ASK_MS;
    if (performance.now() - focus.asked < pause) return;
    if ([...this.#focuses.values()].filter(({ asking }) => asking).length >= MAX_FRESH) return;
    focus.asking = true;
    focus.asked = performance.now();
    const looked = (): void => {
      focus.asking = false;
      if (this.#focuses.get(focus.name) !== focus) return;
      focus.timer = setTimeout(() => this.#soon(), pause).unref();
      this.#soon();
    };
    // The watch reports errors.
    this.#feed
      .inspect(focus.name)
      .then((fresh) => (focus.fresh = fresh))
      .then(looked, looked);
  }

  #select(query: Query): Selection {
    const { state, kind, sort, search } = query;
    const { version, locks } = this.#feed;
    const key = JSON.stringify([state, kind, sort, search]);
    const known = this.#selections.get(key);
    if (known?.version === version) return known;
    const selection = { version, ...select(locks.values(), query) };
    keepNewest(this.#selections, key, selection, MAX_SELECTIONS);
    return selection;
  }

  /** The present content of a part of the list. */
  part(query: Query): Omit<WindowView, 'now'> {
    const { complete, truncated } = this.#feed;
    const { found, counts } = this.#select(query);
    const rows = found.slice(query.offset, query.offset + query.limit).map(rowOf);
    return { counts, matched: found.length, complete, truncated, rows };
  }

  #beat(): void {
    for (const stream of this.#all.keys()) stream.send(':\n\n');
    // Reads again what is only read on demand, even if nothing else happens.
    this.#soon();
  }
}

function healthMessage(health: HealthView): string {
  return encode('health', { ...health, now: Date.now() });
}

function lockMessage({ name, lock = null }: Focus): string {
  return encode('lock', { now: Date.now(), name, lock });
}

/** A message in its wire format. JSON has no line breaks, so no lock name can forge a message. */
export function encode<K extends keyof StreamMessages>(event: K, data: StreamMessages[K]): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** One open page: a response that stays open until either side ends it. */
export class EventStream {
  readonly #response: ServerResponse;

  /** @param onEnd - called once, however it ends */
  constructor(response: ServerResponse, onEnd: () => void) {
    this.#response = response;
    response.on('error', () => undefined);
    response.once('close', onEnd);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
    response.write(`retry: ${RETRY_MS}\n\n`);
  }

  /** Sends a message that {@link encode} has made. */
  send(message: string): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > MAX_UNREAD) {
      response.destroy();
      return;
    }
    response.write(message);
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }
}
