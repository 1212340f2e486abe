import type { AsyncLocalStorage } from 'node:async_hooks';
import type { AcquireMessage, HoldMessage, RenewalMessage } from '../api';
import { acquireChannel, holdChannel, renewalChannel } from '../util/channels';

/** Turns the messages of the channels into spans or metrics. No method may throw. */
export interface LockListener<Store = unknown> {
  /** @returns the store that the acquisition runs in, if `followLocks` has a store */
  acquireStarted(message: AcquireMessage): Store;
  /** @param ended - `false`: it goes on, but is no longer followed */
  acquireEnded(message: AcquireMessage, ended: boolean): void;
  holdStarted(message: HoldMessage): void;
  /** @param ended - `false`: it goes on, but is no longer followed */
  holdEnded(message: HoldMessage, ended: boolean): void;
  renewed(message: RenewalMessage): void;
}

/**
 * Follows every acquisition and hold that begins from now on, in all clients of the process, to its end.
 *
 * @param store - acquisitions run with the value of `acquireStarted` in this store
 * @returns a function that stops it, and reports those in progress as not ended
 */
export function followLocks<Store>(listener: LockListener<Store>, store?: AsyncLocalStorage<Store>): () => void {
  const acquiring = new Set<AcquireMessage>();
  const holding = new Set<HoldMessage>();
  const acquireStarted = (message: unknown): Store => {
    acquiring.add(message as AcquireMessage);
    return listener.acquireStarted(message as AcquireMessage);
  };
  const acquireEnded = (message: unknown): void => {
    if (acquiring.delete(message as AcquireMessage)) listener.acquireEnded(message as AcquireMessage, true);
  };
  const holdStarted = (message: unknown): void => {
    holding.add(message as HoldMessage);
    listener.holdStarted(message as HoldMessage);
  };
  const holdEnded = (message: unknown): void => {
    if (holding.delete(message as HoldMessage)) listener.holdEnded(message as HoldMessage, true);
  };
  const renewed = (message: unknown): void => listener.renewed(message as RenewalMessage);
  if (store === undefined) acquireChannel.start.subscribe(acquireStarted);
  else acquireChannel.start.bindStore(store, acquireStarted);
  acquireChannel.asyncEnd.subscribe(acquireEnded);
  holdChannel.start.subscribe(holdStarted);
  holdChannel.asyncEnd.subscribe(holdEnded);
  renewalChannel.subscribe(renewed);
  return () => {
    if (store === undefined) acquireChannel.start.unsubscribe(acquireStarted);
    else acquireChannel.start.unbindStore(store);
    acquireChannel.asyncEnd.unsubscribe(acquireEnded);
    holdChannel.start.unsubscribe(holdStarted);
    holdChannel.asyncEnd.unsubscribe(holdEnded);
    renewalChannel.unsubscribe(renewed);
    for (const message of acquiring) listener.acquireEnded(message, false);
    for (const message of holding) listener.holdEnded(message, false);
    acquiring.clear();
    holding.clear();
  };
}

/** Bounds of the histograms, in seconds: from a round trip to a job of ten minutes. */
export const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600,
];

/** Whether a hold was lost unexpectedly. If a shutdown left it behind, the loss was expected. */
export function isUnexpectedLoss({ outcome, error }: Pick<HoldMessage, 'outcome' | 'error'>): boolean {
  if (outcome !== 'lost') return false;
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    if ('code' in one && one.code === 'SHUTDOWN') return false;
  }
  return true;
}
