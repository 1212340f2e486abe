import type { MessagePort } from 'node:worker_threads';
import type { RenewalFamily } from '../kinds/Kind';
import type { PackedSettings } from '../connection/packSettings';
import type { GroupValues, Renewed } from '../watchdog/Ownership';

/** One entry of the thread's list. Times are those of {@link sharedTime}. */
export interface EntryCopy {
  /** A new one each time a thread that held nothing acquires the lock. */
  readonly id: number;
  readonly rawName: string;
  readonly owner: string;
  readonly values: GroupValues | undefined;
  readonly family: RenewalFamily;
  readonly watchdogMs: number;
  readonly maxStallMs: number;
  readonly deadline: number;
  /** After so many renewals of the thread, counted from the first, those of a hold are used up, ... */
  readonly firstLimit: number;
  /** ... and after so many those of all. */
  readonly lastLimit: number;
}

/** What the main thread sends. */
export interface ToThread {
  /** Ownerships that are not renewed any more. */
  readonly ended: readonly number[];
  /** Ownerships to renew: new ones, and those whose holds or deadline have changed. */
  readonly changed: readonly EntryCopy[];
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
  /** It has had no connection for a while. */
  | { readonly kind: 'unreached'; readonly error: ErrorCopy | undefined }
  /** The answer to a batch. */
  | {
      readonly kind: 'answered';
      readonly ids: readonly number[];
      readonly found: readonly Renewed[];
      /** Time before it was sent. */
      readonly sentAt: number;
      readonly watchdogMs: number;
      readonly ms: number;
    }
  /** A batch was not renewed, after so many ms; `undefined`: it was not sent. */
  | {
      readonly kind: 'failed';
      readonly ids: readonly number[];
      readonly ms: number | undefined;
      readonly error: ErrorCopy;
    }
  /** The renewals of a hold of it are used up. */
  | { readonly kind: 'usedUp'; readonly id: number }
  /** See {@link ToThread.settle}. */
  | { readonly kind: 'settled'; readonly ticket: number };

/** What the thread is started with. */
export interface ThreadData {
  readonly port: MessagePort;
  readonly memory: SharedArrayBuffer;
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
  return sharedTime() - (performance.now() - time);
}

/** The reverse of {@link toShared}: never later than it was. */
export function fromShared(time: number): number {
  return performance.now() - (sharedTime() - time);
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

  /**
   * A batch is about to be sent. Only what the main thread has sent before counts for it: the thread reads that next.
   */
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
  return Object.assign(new Error(message), { name }, code !== undefined && { code });
}
