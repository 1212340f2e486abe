import type { MessagePort } from 'node:worker_threads';
import type { PackedSettings } from '../connection/packSettings';
import type { GroupValues } from '../watchdog/Ownership';

/** How an ownership is renewed: the scripts for plain locks, for read locks or for group locks. */
export type Family = 'plain' | 'read' | 'group';

/** A hold, as the thread knows it. Times are those of {@link sharedTime}. */
export interface HoldCopy {
  /** Counted up in the order in which the thread was told of them. */
  readonly number: number;
  readonly leaseMs: number;
  readonly leaseEnd: number;
  readonly watchdogMs: number;
  readonly maxRenewals: number;
  readonly renewals: number;
}

/** An ownership, as the thread knows it. */
export interface OwnershipCopy {
  /** A new one each time a thread that held nothing acquires the lock. */
  readonly id: number;
  readonly name: string;
  readonly rawName: string;
  readonly threadId: number;
  readonly owner: string;
  readonly values: GroupValues | undefined;
  readonly family: Family;
  readonly maxStallMs: number;
  readonly deadline: number;
  readonly holds: readonly HoldCopy[];
}

/** What the main thread sends. */
export interface ToThread {
  /** Ownerships that are not renewed any more. */
  readonly ended: readonly number[];
  /** Ownerships to renew: new ones, and those whose holds or deadline have changed. */
  readonly changed: readonly OwnershipCopy[];
  /** Answer with this number when the renewals that are under way now have ended. */
  readonly settle?: number;
}

/** An error, for the other thread. */
export interface ErrorCopy {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
}

/** What the thread reports. */
export type FromThread =
  /** It is connected for the first time. */
  | { readonly kind: 'ready' }
  /** It has had no connection for a while. */
  | { readonly kind: 'unreached'; readonly error: ErrorCopy | undefined }
  /** A batch was renewed. `numbers`: of each ownership the last hold that it knew of. */
  | {
      readonly kind: 'renewed';
      readonly ids: readonly number[];
      readonly numbers: readonly number[];
      /** Time before it was sent. */
      readonly sentAt: number;
      readonly watchdogMs: number;
      readonly ms: number;
    }
  /** A batch was not renewed. `stalledMs`: since the main thread gave no sign of life for so long. */
  | {
      readonly kind: 'failed';
      readonly ids: readonly number[];
      readonly ms: number;
      readonly error: ErrorCopy;
      readonly stalledMs?: number;
    }
  /** A hold is gone in Redis, its deadline has passed, or its renewals are used up. */
  | {
      readonly kind: 'lost';
      readonly id: number;
      readonly number: number;
      readonly how: 'gone' | 'overdue' | 'usedUp';
      readonly why: string;
    }
  /** See {@link ToThread.settle}. */
  | { readonly kind: 'settled'; readonly ticket: number };

/** What the thread is started with. */
export interface ThreadData {
  readonly port: MessagePort;
  readonly memory: SharedArrayBuffer;
  readonly clientId: string;
  readonly settings: PackedSettings;
  /** Where to ask for logins, where passwords change. */
  readonly logins: MessagePort | undefined;
}

/** The time in ms on a clock that all threads of the process share; `performance.now()` begins anew in each. */
export function sharedTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A time of `performance.now()` on the clock that all threads share: never later than it was. */
export function toShared(time: number): number {
  if (!Number.isFinite(time)) return time;
  const shared = sharedTime();
  return shared - (performance.now() - time);
}

/** The reverse of {@link toShared}: never later than it was. */
export function fromShared(time: number): number {
  if (!Number.isFinite(time)) return time;
  const now = performance.now();
  return now - (sharedTime() - time);
}

/** Memory that both threads see. */
export class SharedState {
  readonly memory: SharedArrayBuffer;
  readonly #cells: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#cells = new BigInt64Array(memory);
  }

  /** The main thread lives: its event loop runs. */
  beat(): void {
    Atomics.store(this.#cells, 0, process.hrtime.bigint());
  }

  /** For how long the main thread has given no sign of life, in ms. */
  get stalledMs(): number {
    return Number(process.hrtime.bigint() - Atomics.load(this.#cells, 0)) / 1e6;
  }

  /** How many batches the thread is about to send, or has sent and not been answered. */
  get underWay(): number {
    return Number(Atomics.load(this.#cells, 1));
  }

  /** A batch is about to be sent. Only what the main thread has sent before counts for it: the thread reads that next. */
  begin(): void {
    Atomics.add(this.#cells, 1, 1n);
  }

  /** A batch was answered, or has failed. */
  end(): void {
    Atomics.sub(this.#cells, 1, 1n);
  }
}

/** For the other thread. */
export function copyError(error: Error): ErrorCopy {
  return { name: error.name, message: error.message, code: (error as { readonly code?: unknown }).code };
}

/** The error of the other thread. */
export function errorOf({ name, message, code }: ErrorCopy): Error {
  const error = new Error(message);
  error.name = name;
  return code === undefined ? error : Object.assign(error, { code });
}
