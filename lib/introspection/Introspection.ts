import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackOffWaits } from '../acquire/BackOffWaits';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import { ShutdownError } from '../errors';
import type { Heir } from '../kinds/Kind';
import { enclosingScopes, liveScope, type Scope } from '../thread/threadScope';
import { Alarm } from '../util/Alarm';
import { addTo, groupBy } from '../util/collections';
import { VERSION } from '../util/version';
import type { Subscriptions, Waiting } from '../waiters/Subscriptions';
import type { Ownership } from '../watchdog/Ownership';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import { callSiteHere } from './callSites';
import {
  type Answer,
  ANSWER_CHANNEL,
  clientChannel,
  type ClientHold,
  type ClientWait,
  type HeldAround,
  type HeldByWaiter,
  MAX_VALUES,
  NOTEWORTHY_MS,
  PAGE_SIZE,
  type Question,
} from './wire';

/** At most this many questions are answered at once. Others are dropped, and their inspectors ask again. */
const MAX_ANSWERING = 16;
/** How long an answer measures the event loop, in ms. */
const LOOP_WATCH_MS = 20;
/** At most this many locks are reported as held by one wait. */
const MAX_HELD_AROUND = 20;

/** The caller of a wait: an acquisition of a lock, or a call of a synchronizer. */
type Caller = Pick<Heir, 'around' | 'callSite'> & Partial<Pick<Heir, 'kind' | 'ownership'>>;

/** The parts of a client that answers are made from. */
export interface Introspected {
  readonly clientId: string;
  readonly ownerships: OwnershipTable;
  readonly subscriptions: Pick<Subscriptions<Heir>, 'listen' | 'unlisten'> & { waiting(): Iterable<Waiting<Caller>> };
  readonly backOffWaits: BackOffWaits<Heir>;
  readonly executor: Pick<CommandExecutor, 'publish'>;
  /** The name of a key. */
  readonly nameOf: (rawName: string) => string;
  /** Whether the client records the lines that acquire. */
  readonly callSites: boolean;
  /** The servers and the database: equal for clients that share their locks. */
  readonly place: string;
}

/** The clients of this process that answer questions: a caller may hold a lock through one and wait in another. */
const inThisProcess = new Set<Introspected>();

/**
 * Answers inspectors: what this client holds and since when, who waits, how late its event loop is. Until it is asked,
 * it sends no data. It records only when each hold and each wait began, and with `callSites` their lines. The client
 * listens on a channel of its own only while a hold or a wait is at least 5 s old.
 *
 * States: idle (no holds, no waits) <-> checking (every 5 s) <-> listening -> closed.
 */
export class Introspection {
  readonly #client: Introspected;
  readonly #channel: string;
  readonly #alarm = new Alarm(() => this.#look());
  #idle = true;
  #listening = false;
  #closed = false;
  #answering = 0;
  #utilization = performance.eventLoopUtilization();

  constructor(client: Introspected) {
    this.#client = client;
    inThisProcess.add(client);
    this.#channel = clientChannel(client.clientId);
  }

  /** An acquisition begins. */
  readonly #begun = (): string | undefined => {
    if (this.#idle) {
      this.#setIdle(false);
      this.#alarm.set(performance.now() + NOTEWORTHY_MS);
    }
    return this.#client.callSites ? callSiteHere() : undefined;
  };
  /**
   * Call this when an acquisition begins. It is `undefined` while a call would have no effect, to save its cost.
   * @returns the line of the caller, if lines are recorded
   */
  begun: (() => string | undefined) | undefined = this.#begun;

  /** Stops listening. */
  close(): void {
    this.#closed = true;
    inThisProcess.delete(this.#client);
    // An acquisition that begins from now on must not set the alarm.
    this.#setIdle(false);
    this.#alarm.off();
  }

  #setIdle(idle: boolean): void {
    this.#idle = idle;
    this.begun = idle || this.#client.callSites ? this.#begun : undefined;
  }

  #look(): void {
    if (this.#closed) return;
    const now = performance.now();
    // When the oldest hold or wait began, or any that is noteworthy. `Infinity`: no hold or wait.
    let since = Infinity;
    for (const beginning of this.#beginnings()) {
      since = Math.min(since, beginning);
      if (since <= now - NOTEWORTHY_MS) break;
    }
    const noteworthy = since <= now - NOTEWORTHY_MS;
    if (noteworthy) this.#listen();
    else if (this.#listening) {
      this.#listening = false;
      this.#client.subscriptions.unlisten(this.#channel);
    }
    this.#setIdle(since === Infinity);
    if (!this.#idle) this.#alarm.set((noteworthy ? now : since) + NOTEWORTHY_MS);
  }

  *#beginnings(): Iterable<number> {
    for (const { holds } of this.#client.ownerships.all()) if (holds.length > 0) yield holds[0]!.since;
    for (const { joinedAt } of this.#waiting()) yield joinedAt;
  }

  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.#client.subscriptions.listen(this.#channel, this.#heard).catch((error: unknown) => {
      if (error instanceof ShutdownError) return;
      // Its user may not subscribe to the channel. Inspectors cannot ask this client, and it does not try again.
      this.#client.subscriptions.unlisten(this.#channel);
      this.close();
    });
  }

  readonly #heard = (text: string): void => {
    const question = readQuestion(text);
    if (question === undefined || this.#answering >= MAX_ANSWERING) return;
    this.#answering++;
    void this.#answer(question).finally(() => this.#answering--);
  };

  async #answer({ id, to, keys, from = 0 }: Question): Promise<void> {
    const delayMs = await loopDelay();
    if (this.#closed) return;
    const answer: Answer = { id, ...this.#report(delayMs, keys && new Set(keys), from) };
    // If this fails, the inspector times out and asks again.
    await this.#client.executor.publish(to, JSON.stringify(answer)).catch(() => undefined);
  }

  #report(delayMs: number, keys: ReadonlySet<string> | undefined, from: number): Omit<Answer, 'id'> {
    const now = performance.now();
    const { utilization } = performance.eventLoopUtilization(this.#utilization);
    this.#utilization = performance.eventLoopUtilization();
    const held = [...this.#client.ownerships.all()].filter(
      ({ holds, rawName }) => holds.length > 0 && keys?.has(rawName) !== false,
    );
    const waits = this.#waits(now);
    return {
      clientId: this.#client.clientId,
      host: hostname(),
      pid: process.pid,
      uptimeMs: Math.round(process.uptime() * 1_000),
      versions: { node: process.versions.node, ioredisson: VERSION },
      eventLoop: { delayMs, utilization: Math.round(utilization * 100) / 100 },
      holds: held.slice(from, from + PAGE_SIZE).map((ownership) => holdOf(ownership, now)),
      waits: waits.slice(0, PAGE_SIZE),
      total: { holds: held.length, waits: waits.length },
    };
  }

  *#waiting(): Generator<Waiting<Caller>> {
    yield* this.#client.subscriptions.waiting();
    yield* this.#client.backOffWaits.waiting();
  }

  /** The waits, grouped by object; the longest first. */
  #waits(now: number): ClientWait[] {
    const byObject = groupBy(this.#waiting(), ({ kind, rawName }) => `${kind} ${rawName}`);
    if (byObject.size === 0) return [];
    const held = new HeldIn([...inThisProcess].filter(({ place }) => place === this.#client.place));
    const found = [...byObject.values()].map((waiting): ClientWait => {
      const oldest = waiting.reduce((one, other) => (other.joinedAt < one.joinedAt ? other : one));
      const { rawName, kind, heir } = oldest;
      const callSite = heir?.callSite;
      return {
        name: heir?.ownership?.name ?? this.#client.nameOf(rawName),
        key: rawName,
        kind,
        callers: waiting.length,
        waitedMs: Math.round(now - oldest.joinedAt),
        holding: held.by(waiting),
        ...(callSite !== undefined && { callSite }),
      };
    });
    return found.sort((a, b) => b.waitedMs - a.waitedMs);
  }
}

/** Finds what waiting callers hold through any client: in the scopes around them, or as the same thread. */
class HeldIn {
  readonly #byScope = new Map<Scope, Ownership[]>();
  readonly #byThread = new Map<number, Ownership[]>();

  constructor(clients: readonly Introspected[]) {
    for (const ownership of clients.flatMap(({ ownerships }) => [...ownerships.all()])) {
      if (ownership.holds.length === 0) continue;
      addTo(this.#byThread, ownership.threadId, ownership);
      for (const { scope } of ownership.holds) {
        const live = liveScope(scope);
        if (live !== undefined) addTo(this.#byScope, live, ownership);
      }
    }
  }

  by(waiting: readonly Waiting<Caller>[]): readonly HeldByWaiter[] {
    /** By the lock held and the values wanted of a group: callers may wait for different values. */
    const found = new Map<string, HeldByWaiter>();
    for (const { heir } of waiting) {
      if (heir === undefined) continue;
      for (const one of this.#around(heir)) {
        const key = `${one.key} ${heir.ownership?.values?.key ?? ''}`;
        if (!found.has(key)) found.set(key, { ...heldOf(one), ...wantsOf(heir) });
      }
      if (found.size >= MAX_HELD_AROUND) break;
    }
    return [...found.values()].slice(0, MAX_HELD_AROUND);
  }

  #around({ ownership, around }: Caller): ReadonlySet<Ownership> {
    const found = new Set<Ownership>();
    if (ownership !== undefined) for (const one of this.#byThread.get(ownership.threadId) ?? []) found.add(one);
    for (const scope of enclosingScopes(around)) {
      for (const one of this.#byScope.get(scope) ?? []) found.add(one);
      for (const one of this.#byThread.get(scope.thread.id) ?? []) found.add(one);
    }
    return found;
  }
}

function heldOf({ name, rawName: key, owner, values }: Ownership): HeldAround {
  return { name, key, owner, ...(values && values.fields.length <= MAX_VALUES && { values: values.fields }) };
}

/** The values of a group that other owners must release: the caller does not wait for those that it already holds. */
function wantsOf({ ownership }: Caller): Pick<HeldByWaiter, 'wants'> {
  const fields = ownership?.values?.fields;
  if (fields === undefined || fields.length > MAX_VALUES) return {};
  const has = new Set(
    ownership!.overlapping?.filter(({ holds }) => holds.length > 0).flatMap(({ values }) => values!.fields),
  );
  return { wants: fields.filter((field) => !has.has(field)) };
}

function holdOf(ownership: Ownership, now: number): ClientHold {
  const { kind, threadId, holds } = ownership;
  const [first] = holds as [Ownership['holds'][number]];
  const { callSite } = first;
  return {
    ...heldOf(ownership),
    kind,
    threadId,
    count: holds.length,
    heldMs: Math.round(now - first.since),
    leaseMs: holds.some(({ leaseMs }) => leaseMs === -1) ? -1 : Number.isFinite(first.leaseMs) ? first.leaseMs : null,
    renewals: Math.max(...holds.map(({ renewals }) => renewals)),
    ...(callSite !== undefined && { callSite }),
  };
}

/** @returns `undefined` for an invalid question: any client may publish on the channel */
function readQuestion(text: string): Question | undefined {
  try {
    const { id, to, keys, from } = JSON.parse(text) as Partial<Record<keyof Question, unknown>>;
    const isAddressed = typeof id === 'string' && typeof to === 'string' && ANSWER_CHANNEL.test(to);
    const isPage = from === undefined || (Number.isSafeInteger(from) && (from as number) >= 0);
    const areKeys = keys === undefined || (Array.isArray(keys) && keys.every((key) => typeof key === 'string'));
    return isAddressed && isPage && areKeys ? ({ id, to, keys, from } as Question) : undefined;
  } catch {
    return undefined;
  }
}

/** How late a timer fires now, in ms. */
async function loopDelay(): Promise<number> {
  const startedAt = performance.now();
  await sleep(LOOP_WATCH_MS, undefined, { ref: false });
  return Math.max(0, Math.round(performance.now() - startedAt - LOOP_WATCH_MS));
}
