import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { LockLostEvent } from '../api';
import type { History } from './History';
import type { LockEvent } from './wire';

/** What is read of the messages of the channels of docs/observability.md. */
interface AcquireMessage {
  readonly clientId: string;
  readonly kind: string;
  readonly name: string;
  readonly threadId: number;
  readonly outcome?: string;
  readonly waitedMs?: number;
  readonly heldMs?: number;
}

/** A wait that is worth an event although nothing came of it or it was short: none is. In ms. */
const LONG_WAIT_MS = 10;

/** Keeps the events of the holds of this process, and since when it has them. Listens only while somebody looks. */
export class ProcessEvents {
  readonly #history: History;
  readonly #isKnown: (clientId: string) => boolean;
  readonly #onEvent: (name: string) => void;
  /** Name -> owner -> since when, and how many times. */
  readonly #holds = new Map<string, Map<string, { readonly since: number; count: number }>>();
  #stop: (() => void) | undefined;

  /**
   * @param isKnown - whether a client works on the Redis that is looked at: the process may have others
   * @param onEvent - called with the name of the lock after each event
   */
  constructor(history: History, isKnown: (clientId: string) => boolean, onEvent: (name: string) => void) {
    this.#history = history;
    this.#isKnown = isKnown;
    this.#onEvent = onEvent;
  }

  start(): void {
    if (this.#stop !== undefined) return;
    const acquire = tracingChannel<unknown, AcquireMessage>('ioredisson:acquire');
    const hold = tracingChannel<unknown, AcquireMessage>('ioredisson:hold');
    const lost = channel('ioredisson:lost');
    const onAcquire = { asyncEnd: (message: AcquireMessage) => this.#acquired(message) };
    const onHold = {
      start: (message: AcquireMessage) => this.#held(message),
      asyncEnd: (message: AcquireMessage) => this.#over(message),
    };
    const onLost = (message: unknown): void => this.#lost(message as LockLostEvent & { readonly clientId?: string });
    acquire.subscribe(onAcquire as Parameters<typeof acquire.subscribe>[0]);
    hold.subscribe(onHold as Parameters<typeof hold.subscribe>[0]);
    lost.subscribe(onLost);
    this.#stop = () => {
      acquire.unsubscribe(onAcquire as Parameters<typeof acquire.subscribe>[0]);
      hold.unsubscribe(onHold as Parameters<typeof hold.subscribe>[0]);
      lost.unsubscribe(onLost);
    };
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#holds.clear();
  }

  /** Since when this process holds a lock that is held by these owners. */
  since(name: string, owners: readonly string[]): number | undefined {
    const holds = this.#holds.get(name);
    if (holds === undefined) return undefined;
    const times = owners.flatMap((owner) => holds.get(owner)?.since ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Whether the holds of a client are told of here. */
  tells(name: string, clientId: string): boolean {
    return [...(this.#holds.get(name)?.keys() ?? [])].some((owner) => owner.startsWith(clientId));
  }

  #acquired(message: AcquireMessage): void {
    const { outcome = 'acquired', waitedMs = 0 } = message;
    if (outcome === 'acquired') {
      if (waitedMs >= LONG_WAIT_MS) this.#add(message, 'info', `acquired after ${duration(waitedMs)} of waiting`);
    } else if (outcome === 'timeout') {
      this.#add(message, 'warning', `gave up after ${duration(waitedMs)} of waiting`);
    } else {
      this.#add(message, outcome === 'error' ? 'error' : 'info', `stopped waiting: ${outcome}`);
    }
  }

  #held(message: AcquireMessage): void {
    if (!this.#isKnown(message.clientId)) return;
    const holds = this.#holds.get(message.name) ?? new Map<string, { since: number; count: number }>();
    this.#holds.set(message.name, holds);
    const hold = holds.get(ownerOf(message));
    if (hold === undefined) holds.set(ownerOf(message), { since: Date.now(), count: 1 });
    else hold.count++;
    this.#add(message, 'info', hold === undefined ? 'acquired' : 'acquired again by its holder');
  }

  #over(message: AcquireMessage): void {
    const holds = this.#holds.get(message.name);
    const hold = holds?.get(ownerOf(message));
    if (hold !== undefined && --hold.count === 0) holds?.delete(ownerOf(message));
    if (holds?.size === 0) this.#holds.delete(message.name);
    const after = message.heldMs === undefined ? '' : ` after ${duration(message.heldMs)}`;
    if (message.outcome !== 'lost') this.#add(message, 'info', `released${after}`);
  }

  #lost({ name, threadId, cause, clientId }: LockLostEvent & { readonly clientId?: string }): void {
    if (clientId !== undefined && !this.#isKnown(clientId)) return;
    this.#record(name, { level: 'error', text: `lost: ${cause.message}`, owner: `${clientId ?? ''}:${threadId}` });
  }

  #add(message: AcquireMessage, level: LockEvent['level'], text: string): void {
    if (this.#isKnown(message.clientId)) this.#record(message.name, { level, text, owner: ownerOf(message) });
  }

  #record(name: string, event: Pick<LockEvent, 'level' | 'text' | 'owner'>): void {
    this.#history.add(name, { at: Date.now(), source: 'process', ...event });
    this.#onEvent(name);
  }
}

/** As it is on the wire. */
function ownerOf({ clientId, threadId, kind }: AcquireMessage): string {
  return `${clientId}:${threadId}${kind === 'write' ? ':write' : ''}`;
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
