import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { ObjectKind } from '../api';
import type { BackOffWaits } from '../acquire/BackOffWaits';
import type { NameMapper } from '../config/NameMapper';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import { ShutdownError } from '../errors';
import type { Heir } from '../kinds/LockKind';
import { enclosingScopes, liveScope, type Scope } from '../thread/threadScope';
import { Alarm } from '../util/Alarm';
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
  NOTEWORTHY_MS,
  PAGE_SIZE,
  type Question,
} from './wire';

/** More questions than this are not answered at once: the others are dropped, and their inspectors ask again. */
const MAX_ANSWERING = 16;
/** How long the event loop is watched for an answer, in ms. */
const LOOP_WATCH_MS = 20;
/** The most locks that one wait is said to hold. */
const MAX_HELD_AROUND = 20;

/** What a client has that can be asked for. */
export interface Introspected {
  readonly clientId: string;
  readonly ownerships: OwnershipTable;
  readonly subscriptions: Subscriptions<Heir>;
  readonly backOffWaits: BackOffWaits<Heir>;
  readonly executor: Pick<CommandExecutor, 'publish'>;
  readonly nameMapper: NameMapper;
  /** Whether the lines that acquire are recorded. */
  readonly callSites: boolean;
}

/**
 * Answers inspectors: what this client holds since when, who waits, how late its event loop is. Nothing is sent, and
 * nothing recorded, for it; the client listens on a channel of its own only while something has been held or waited for
 * for 5 s.
 *
 * States: idle (nothing is held or waited for) <-> looking (every 5 s) <-> listening -> closed.
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
    this.#channel = clientChannel(client.clientId);
  }

  /** An acquisition begins. @returns the line that called it, if that is recorded */
  readonly begun = (): string | undefined => {
    if (this.#idle) {
      this.#idle = false;
      this.#alarm.set(performance.now() + NOTEWORTHY_MS);
    }
    return this.#client.callSites ? callSiteHere() : undefined;
  };

  /** Listens no more. */
  close(): void {
    this.#closed = true;
    // Nothing begins any more: an acquisition that is refused now sets no alarm.
    this.#idle = false;
    this.#alarm.off();
  }

  #look(): void {
    if (this.#closed) return;
    const now = performance.now();
    const since = this.#oldest(now - NOTEWORTHY_MS);
    const noteworthy = since <= now - NOTEWORTHY_MS;
    if (noteworthy) this.#listen();
    else this.#leave();
    this.#idle = since === Infinity;
    if (!this.#idle) this.#alarm.set((noteworthy ? now : since) + NOTEWORTHY_MS);
  }

  /** Since when (monotonic) the oldest hold or wait is there, or any that is so old. `Infinity`: there is none. */
  #oldest(enough: number): number {
    let oldest = Infinity;
    for (const { holds } of this.#client.ownerships.all()) {
      const [first] = holds;
      if (first !== undefined && first.since < oldest) oldest = first.since;
      if (oldest <= enough) return oldest;
    }
    for (const { joinedAt } of this.#waiting()) {
      if (joinedAt < oldest) oldest = joinedAt;
      if (oldest <= enough) return oldest;
    }
    return oldest;
  }

  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.#client.subscriptions.listen(this.#channel, this.#heard).catch((error: unknown) => {
      if (error instanceof ShutdownError) return;
      // Its user may not listen there. It is not asked then, and does not try again.
      this.#client.subscriptions.unlisten(this.#channel);
      this.close();
    });
  }

  #leave(): void {
    if (!this.#listening) return;
    this.#listening = false;
    this.#client.subscriptions.unlisten(this.#channel);
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
    // Whoever asked has a time limit, and asks again.
    await this.#client.executor.publish(to, JSON.stringify(answer)).catch(() => undefined);
  }

  #report(delayMs: number, keys: ReadonlySet<string> | undefined, from: number): Omit<Answer, 'id'> {
    const now = performance.now();
    const { utilization } = performance.eventLoopUtilization(this.#utilization);
    this.#utilization = performance.eventLoopUtilization();
    const held: Ownership[] = [];
    let holds = 0;
    for (const ownership of this.#client.ownerships.all()) {
      if (ownership.holds.length === 0 || keys?.has(ownership.rawName) === false) continue;
      if (holds++ >= from && held.length < PAGE_SIZE) held.push(ownership);
    }
    const waits = this.#waits(now);
    return {
      clientId: this.#client.clientId,
      host: hostname(),
      pid: process.pid,
      uptimeMs: Math.round(process.uptime() * 1_000),
      versions: { node: process.versions.node, ioredisson: VERSION },
      eventLoop: { delayMs, utilization: Math.round(utilization * 100) / 100 },
      holds: held.map((ownership) => holdOf(ownership, now)),
      waits: waits.slice(0, PAGE_SIZE),
      total: { holds, waits: waits.length },
    };
  }

  *#waiting(): Generator<Waiting<Heir>> {
    yield* this.#client.subscriptions.waiting();
    yield* this.#client.backOffWaits.waiting();
  }

  /** Who waits, by object; the longest waits first. */
  #waits(now: number): ClientWait[] {
    const byObject = new Map<string, Waiting<Heir>[]>();
    for (const waiting of this.#waiting()) {
      const key = `${kindOf(waiting)} ${waiting.rawName}`;
      const others = byObject.get(key);
      if (others === undefined) byObject.set(key, [waiting]);
      else others.push(waiting);
    }
    const held = new HeldIn(this.#client.ownerships);
    const found = [...byObject.values()].map((waiting): ClientWait => {
      const oldest = waiting.reduce((one, other) => (other.joinedAt < one.joinedAt ? other : one));
      const { rawName, heir } = oldest;
      const callSite = heir?.callSite;
      return {
        name: heir?.name ?? this.#client.nameMapper.unmap(rawName),
        key: rawName,
        kind: kindOf(oldest),
        callers: waiting.length,
        waitedMs: Math.round(now - oldest.joinedAt),
        holding: held.by(waiting),
        ...(callSite !== undefined && { callSite }),
      };
    });
    return found.sort((a, b) => b.waitedMs - a.waitedMs);
  }
}

/** Finds what the callers of waits hold: in the scopes around them, or as the same thread. */
class HeldIn {
  readonly #byScope = new Map<Scope, Ownership[]>();
  readonly #byThread = new Map<number, Ownership[]>();

  constructor(ownerships: OwnershipTable) {
    const add = <K>(map: Map<K, Ownership[]>, key: K, ownership: Ownership): void => {
      const others = map.get(key);
      if (others === undefined) map.set(key, [ownership]);
      else others.push(ownership);
    };
    for (const ownership of ownerships.all()) {
      if (ownership.holds.length === 0) continue;
      add(this.#byThread, ownership.threadId, ownership);
      for (const { scope } of ownership.holds) {
        const live = liveScope(scope);
        if (live !== undefined) add(this.#byScope, live, ownership);
      }
    }
  }

  by(waiting: readonly Waiting<Heir>[]): readonly HeldAround[] {
    const found = new Set<Ownership>();
    for (const { heir } of waiting) {
      if (heir === undefined) continue;
      for (const one of this.#byThread.get(heir.threadId) ?? []) found.add(one);
      for (const scope of enclosingScopes(heir.around)) {
        for (const one of this.#byScope.get(scope) ?? []) found.add(one);
        for (const one of this.#byThread.get(scope.thread.id) ?? []) found.add(one);
      }
      if (found.size >= MAX_HELD_AROUND) break;
    }
    return [...found].slice(0, MAX_HELD_AROUND).map(({ name, rawName: key, owner }) => ({ name, key, owner }));
  }
}

function kindOf({ kind, heir }: Waiting<Heir>): ObjectKind {
  return kind ?? heir!.kind.name;
}

function holdOf({ name, rawName: key, owner, kind, threadId, holds }: Ownership, now: number): ClientHold {
  const [first] = holds as [Ownership['holds'][number]];
  const { callSite } = first;
  return {
    name,
    key,
    owner,
    kind,
    threadId,
    count: holds.length,
    heldMs: Math.round(now - first.since),
    leaseMs: holds.some(({ leaseMs }) => leaseMs === -1) ? -1 : first.leaseMs,
    renewals: Math.max(...holds.map(({ renewals }) => renewals)),
    ...(callSite !== undefined && { callSite }),
  };
}

/** @returns `undefined` for anything but a question: anybody may publish there */
function readQuestion(text: string): Question | undefined {
  try {
    const { id, to, keys, from } = JSON.parse(text) as Partial<Record<keyof Question, unknown>>;
    if (typeof id !== 'string' || typeof to !== 'string' || !ANSWER_CHANNEL.test(to)) return undefined;
    if (from !== undefined && !(Number.isSafeInteger(from) && (from as number) >= 0)) return undefined;
    const question = { id, to, ...(from !== undefined && { from: from as number }) };
    if (keys === undefined) return question;
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) return undefined;
    return { ...question, keys };
  } catch {
    return undefined;
  }
}

/** How late a timer fires now, in ms. */
function loopDelay(): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    setTimeout(
      () => resolve(Math.max(0, Math.round(performance.now() - startedAt - LOOP_WATCH_MS))),
      LOOP_WATCH_MS,
    ).unref();
  });
}
