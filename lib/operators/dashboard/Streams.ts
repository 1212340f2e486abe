import type { ServerResponse } from 'node:http';
import { keepNewest } from '../../util/collections';
import type { Feed } from './Feed';
import { countAll, keyOf, type Query, select } from './query';
import { type Fresh, rowOf, type Tracked } from './rows';
import type { LockDetail, LockRow, StreamMessages, WindowHead, WindowView } from './wire';

/** Changes within this time go out together, in ms. */
const GATHER_MS = 200;
/** Something is sent this often, so that a connection that is gone is found, in ms. */
const HEARTBEAT_MS = 15_000;
/** A stream that lives longer is ended: its page comes back, and is authorized again. */
const MAX_LIFE_MS = 10 * 60_000;
/** How often what only a fresh look tells is read of a lock that a page shows, in ms. */
const FRESH_MS = 2_000;
/** How often the holders of a lock that a page shows are asked, in ms. */
const ASK_MS = 5_000;
/** Locks that are looked at so at a time. */
const MAX_FRESH = 50;
/** Orders of the whole list that are kept. */
const MAX_SELECTIONS = 16;

/** A reader that leaves more than this unread is dropped, in bytes: it comes back and begins anew. */
const MAX_UNREAD = 4 * 1024 * 1024;
/** What a browser waits before it comes back, in ms. */
const RETRY_MS = 2_000;

/** A part of the list that pages show, and what they have been told of it. */
interface View {
  readonly query: Query;
  readonly streams: Set<EventStream>;
  /** Name -> the row as text. */
  rows: ReadonlyMap<string, string>;
  order: string;
  head: string;
  version: number;
}

/** A lock that pages show in full. */
interface Focus {
  readonly name: string;
  readonly streams: Set<EventStream>;
  text: string;
  fresh: Fresh | undefined;
  asked: number;
  asking: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * All open pages. What changes is worked out and written as text once for all pages that show the same, however many
 * they are.
 */
export class Streams {
  readonly #feed: Feed;
  readonly #max: number;
  readonly #all = new Map<EventStream, NodeJS.Timeout>();
  readonly #views = new Map<string, View>();
  readonly #focuses = new Map<string, Focus>();
  readonly #selections = new Map<string, { readonly version: number; readonly found: readonly Tracked[] }>();
  #counts: { readonly version: number; readonly counts: ReturnType<typeof countAll> } | undefined;
  #health = '';
  #gather: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(feed: Feed, max: number) {
    this.#feed = feed;
    this.#max = max;
    feed.onChange((name) => {
      // The events of a lock that nobody looks at are for later.
      if (this.#all.size > 0 && (name === undefined || this.#focuses.has(name))) this.#soon();
    });
  }

  get isFull(): boolean {
    return this.#all.size >= this.#max;
  }

  /** Begins a stream. @param name - of the lock that is shown in full, if one is */
  open(response: ServerResponse, query: Query, name: string | undefined): void {
    const release = this.#feed.use();
    const view = this.#viewOf(query);
    const focus = name === undefined ? undefined : this.#focusOf(name);
    const stream = new EventStream(response, () => {
      clearTimeout(this.#all.get(stream));
      this.#all.delete(stream);
      view.streams.delete(stream);
      if (view.streams.size === 0) this.#views.delete(keyOf(query));
      focus?.streams.delete(stream);
      if (focus?.streams.size === 0) this.#leave(focus);
      if (this.#all.size === 0) this.#rest();
      release();
    });
    this.#all.set(stream, setTimeout(() => stream.end(), MAX_LIFE_MS).unref());
    view.streams.add(stream);
    focus?.streams.add(stream);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    stream.send(encode('health', { ...this.#feed.health, now: Date.now() }));
    // What the others of this view have been told: the changes that follow are counted from there.
    stream.send(windowMessage(view));
    if (focus !== undefined) {
      if (focus.text !== '') stream.send(lockMessage(focus));
      this.#refresh(focus);
    }
    this.#soon();
  }

  /** A part of the list now. */
  window(query: Query): WindowView {
    const found = this.#select(query).slice(query.offset, query.offset + query.limit);
    return { now: Date.now(), ...this.#head(query), rows: found.map(rowOf) };
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
    const health = JSON.stringify(this.#feed.health);
    if (health !== this.#health) {
      this.#health = health;
      const message = encode('health', { ...this.#feed.health, now: Date.now() });
      for (const stream of this.#all.keys()) stream.send(message);
    }
    for (const view of this.#views.values()) this.#tellView(view);
    for (const focus of this.#focuses.values()) this.#tellFocus(focus);
  }

  #viewOf(query: Query): View {
    const key = keyOf(query);
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const view: View = { query, streams: new Set(), rows: new Map(), order: '', head: '', version: -1 };
    this.#views.set(key, view);
    this.#update(view);
    return view;
  }

  /** Brings a view up to date. @returns the rows with something new as text; `undefined` where nothing is */
  #update(view: View): { readonly rows: readonly string[]; readonly order: readonly string[] | undefined } | undefined {
    if (view.version === this.#feed.version) return undefined;
    const { query, rows: before } = view;
    const found = this.#select(query).slice(query.offset, query.offset + query.limit);
    const rows = new Map(found.map(rowOf).map((row) => [row.name, JSON.stringify(row)]));
    const order = JSON.stringify([...rows.keys()]);
    const head = JSON.stringify(this.#head(query));
    const changed = [...rows].filter(([name, text]) => before.get(name) !== text).map(([, text]) => text);
    const isNew = order !== view.order;
    const same = changed.length === 0 && !isNew && head === view.head;
    Object.assign(view, { rows, order, head, version: this.#feed.version });
    return same ? undefined : { rows: changed, order: isNew ? [...rows.keys()] : undefined };
  }

  #tellView(view: View): void {
    const change = this.#update(view);
    if (change === undefined) return;
    const message = encode('change', {
      now: Date.now(),
      ...(JSON.parse(view.head) as Omit<WindowHead, 'now'>),
      rows: change.rows.map((text) => JSON.parse(text) as LockRow),
      ...(change.order && { order: change.order }),
    });
    for (const stream of view.streams) stream.send(message);
  }

  #focusOf(name: string): Focus {
    const known = this.#focuses.get(name);
    if (known !== undefined) return known;
    const focus: Focus = {
      name,
      streams: new Set(),
      text: '',
      fresh: undefined,
      asked: -Infinity,
      asking: false,
      timer: undefined,
    };
    this.#focuses.set(name, focus);
    return focus;
  }

  #leave(focus: Focus): void {
    clearTimeout(focus.timer);
    this.#focuses.delete(focus.name);
  }

  #tellFocus(focus: Focus): void {
    this.#refresh(focus);
    const lock = this.#feed.detail(focus.name, focus.fresh);
    if (lock === undefined && focus.fresh === undefined && this.#feed.lock(focus.name) === undefined) return;
    const text = JSON.stringify(lock ?? null);
    if (text === focus.text) return;
    focus.text = text;
    const message = lockMessage(focus);
    for (const stream of focus.streams) stream.send(message);
  }

  /** Permits, what is not in the list, and what its holders say, only a look at that one object tells. */
  #refresh(focus: Focus): void {
    const known = this.#feed.lock(focus.name)?.report;
    const isFree = known !== undefined && known.holders.length === 0 && known.kind !== 'permitExpirableSemaphore';
    if (isFree || focus.asking) return;
    const pause = known === undefined || known.kind === 'permitExpirableSemaphore' ? FRESH_MS : ASK_MS;
    if (performance.now() - focus.asked < pause) return;
    if ([...this.#focuses.values()].filter(({ asking }) => asking).length >= MAX_FRESH) return;
    focus.asking = true;
    focus.asked = performance.now();
    const done = (fresh: Fresh | undefined): void => {
      focus.asking = false;
      if (fresh !== undefined) focus.fresh = fresh;
      if (this.#focuses.get(focus.name) !== focus) return;
      focus.timer = setTimeout(() => this.#soon(), pause).unref();
      this.#soon();
    };
    // What is wrong, the watch tells.
    this.#feed.inspect(focus.name).then(done, () => done(undefined));
  }

  #select(query: Query): readonly Tracked[] {
    const { state, kind, sort, search } = query;
    const key = JSON.stringify([state, kind, sort, search]);
    const known = this.#selections.get(key);
    if (known?.version === this.#feed.version) return known.found;
    const found = select(this.#feed.locks.values(), query);
    keepNewest(this.#selections, key, { version: this.#feed.version, found }, MAX_SELECTIONS);
    return found;
  }

  #head(query: Query): Omit<WindowHead, 'now'> {
    const { version, complete, truncated, locks } = this.#feed;
    if (this.#counts?.version !== version) this.#counts = { version, counts: countAll(locks.values()) };
    return { counts: this.#counts.counts, matched: this.#select(query).length, complete, truncated };
  }

  #beat(): void {
    for (const stream of this.#all.keys()) stream.send(':\n\n');
    // What is only read on demand is looked at again, also where nothing else happens.
    this.#soon();
  }
}

function lockMessage({ name, text }: Focus): string {
  return encode('lock', { now: Date.now(), name, lock: JSON.parse(text) as LockDetail | null });
}

/** All of a view, as it was last told. */
function windowMessage({ rows, head }: View): string {
  const all = [...rows.values()].map((text) => JSON.parse(text) as LockRow);
  return encode('window', { now: Date.now(), ...(JSON.parse(head) as Omit<WindowHead, 'now'>), rows: all });
}

/** A message as it is on the wire. JSON has no line breaks, so nobody's name can forge a message. */
export function encode<K extends keyof StreamMessages>(event: K, data: StreamMessages[K]): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** One open page: a response that goes on until either side ends it. */
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

  /** Sends what {@link encode} has made. */
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
