import type { AcquireMessage, HoldMessage, LockLostEvent } from '../../api';
import { ALL_KINDS } from '../../kinds/allKinds';
import { followLocks, isUnexpectedLoss } from '../../telemetry/followLocks';
import { lostChannel } from '../../util/channels';
import type { ObjectReport } from '../inspection';
import type { History } from './History';
import type { LockEvent } from './wire';

/** Kinds that callers wait for but do not hold: they have no holds. */
const WITHOUT_HOLDS: ReadonlySet<AcquireMessage['kind']> = new Set(
  ALL_KINDS.filter(({ data }) => data === 'number').map(({ name }) => name),
);

/** What earlier scans know. */
export interface KnownLocks {
  /** Whether a client uses the Redis that the dashboard shows: the process may have clients of other servers. */
  hasClient(clientId: string): boolean;
  /** The owner with that thread id that was last seen holding the lock. */
  holderOf(name: string, threadId: number): string | undefined;
}

/** Keeps the events of this process's holds, and when each hold began. Listens only while the dashboard is in use. */
export class ProcessEvents {
  readonly #history: History;
  readonly #known: KnownLocks;
  readonly #onEvent: (name: string) => void;
  /** By owner and name: when the hold began, and how many times it is held. */
  readonly #holds = new Map<string, { readonly since: number; count: number }>();
  /** Waits whose hold is about to begin, by owner and name: how long they took, in ms. */
  readonly #waits = new Map<string, number>();
  /** Losses that holds have already reported. */
  readonly #told = new WeakSet<object>();

  /** @param onEvent - called with the name of the lock after each event */
  constructor(history: History, known: KnownLocks, onEvent: (name: string) => void) {
    this.#history = history;
    this.#known = known;
    this.#onEvent = onEvent;
  }

  /** Listens until the caller calls the returned function. */
  start(): () => void {
    const unfollow = followLocks({
      acquireStarted: () => undefined,
      acquireEnded: (message, ended) => ended && this.#acquired(message),
      holdStarted: (message) => this.#held(message),
      holdEnded: (message, ended) => ended && this.#over(message),
      renewed: () => undefined,
    });
    const onLost = (event: LockLostEvent): void => this.#lost(event);
    lostChannel.subscribe(onLost as Parameters<typeof lostChannel.subscribe>[0]);
    return () => {
      unfollow();
      lostChannel.unsubscribe(onLost as Parameters<typeof lostChannel.unsubscribe>[0]);
      this.#holds.clear();
      this.#waits.clear();
    };
  }

  /** When a hold of this process began; `undefined`: it has none, or took the lock before this class listened. */
  since({ name, holders }: Pick<ObjectReport, 'name' | 'holders'>): number | undefined {
    const times = holders.flatMap(({ owner }) => this.#holds.get(`${owner} ${name}`)?.since ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Whether this class reports what an owner does with a lock. It does not if the hold began before it listened. */
  tells(name: string, owner: string): boolean {
    return this.#history.of(name).some((event) => event.source === 'process' && event.owner === owner);
  }

  #acquired(message: AcquireMessage): void {
    const { outcome, waitedMs = 0, attempts = 0, waitTime, kind } = message;
    if (outcome === 'acquired') {
      // An acquisition with one attempt has not waited, however slow the reply was.
      if (attempts < 2) return;
      // Reported together with the hold, which begins now.
      if (!WITHOUT_HOLDS.has(kind)) this.#waits.set(keyOf(message), waitedMs);
      else
        this.#add(message, 'info', `${kind === 'latch' ? 'open' : 'acquired'} after ${duration(waitedMs)} of waiting`);
    } else if (outcome === 'timeout') {
      // A caller that tries again and again without waiting would push out all other events.
      if (waitTime > 0) this.#add(message, 'warning', `gave up after ${duration(waitedMs)} of waiting`);
    } else {
      this.#add(message, outcome === 'error' ? 'error' : 'info', stopped(message));
    }
  }

  #held(message: HoldMessage): void {
    const waitedMs = this.#waits.get(keyOf(message));
    this.#waits.delete(keyOf(message));
    if (!this.#known.hasClient(message.clientId)) return;
    const hold = this.#holds.get(keyOf(message));
    if (hold === undefined) this.#holds.set(keyOf(message), { since: Date.now(), count: 1 });
    else hold.count++;
    const after = waitedMs === undefined ? '' : ` after ${duration(waitedMs)} of waiting`;
    this.#add(message, 'info', hold === undefined ? `acquired${after}` : 'acquired again by its holder');
  }

  #over(message: HoldMessage): void {
    const { outcome, heldMs, error } = message;
    const hold = this.#holds.get(keyOf(message));
    const left = hold === undefined ? 0 : --hold.count;
    if (left === 0) this.#holds.delete(keyOf(message));
    const after = heldMs === undefined ? '' : ` after ${duration(heldMs)}`;
    if (outcome !== 'lost') {
      const what = left === 0 ? 'released' : `released once, held ${left === 1 ? 'once' : `${left} times`} more,`;
      return this.#add(message, 'info', `${what}${after}`);
    }
    if (error instanceof Error) this.#told.add(error);
    // All holds of an owner are lost together.
    if (left === 0) this.#add(message, isUnexpectedLoss(message) ? 'error' : 'info', `lost${after}${reasonOf(error)}`);
  }

  /** Only for holds that began before this class listened: {@link #over} reports the others. */
  #lost({ name, threadId, cause }: LockLostEvent): void {
    if (this.#told.has(cause)) return;
    // The message names no client. It is about this Redis if its thread was seen holding the lock there.
    const owner = this.#known.holderOf(name, threadId);
    if (owner === undefined) return;
    const level = isUnexpectedLoss({ outcome: 'lost', error: cause }) ? 'error' : 'info';
    this.#record(name, { level, text: `lost${reasonOf(cause)}`, owner });
  }

  #add(message: AcquireMessage | HoldMessage, level: LockEvent['level'], text: string): void {
    if (this.#known.hasClient(message.clientId)) this.#record(message.name, { level, text, owner: ownerOf(message) });
  }

  #record(name: string, event: Pick<LockEvent, 'level' | 'text' | 'owner'>): void {
    this.#history.add(name, { at: Date.now(), source: 'process', ...event });
    this.#onEvent(name);
  }
}

/** The owner as stored in Redis. */
function ownerOf({ clientId, threadId, kind }: AcquireMessage | HoldMessage): string {
  return `${clientId}:${threadId}${kind === 'write' ? ':write' : ''}`;
}

function keyOf(message: AcquireMessage | HoldMessage): string {
  return `${ownerOf(message)} ${message.name}`;
}

function stopped({ outcome, error }: AcquireMessage): string {
  return outcome === 'aborted' ? 'stopped waiting: aborted' : `stopped waiting${reasonOf(error)}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? `: ${error.message}` : '';
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
