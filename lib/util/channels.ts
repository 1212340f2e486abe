import { type Channel, channel, tracingChannel, type TracingChannel } from 'node:diagnostics_channel';
import type { AcquireMessage, HoldMessage, LockLostEvent, RenewalMessage } from '../api';

/** One acquisition, from the call to its outcome. */
export const acquireChannel: TracingChannel<unknown, AcquireMessage> = tracingChannel('ioredisson:acquire');
/** One hold, from acquired to given back or lost. */
export const holdChannel: TracingChannel<unknown, HoldMessage> = tracingChannel('ioredisson:hold');
/** The events of `onLockLost`. */
export const lostChannel: Channel<unknown, LockLostEvent> = channel('ioredisson:lost') as typeof lostChannel;
/** One batch of renewals. */
export const renewalChannel: Channel<unknown, RenewalMessage> = channel('ioredisson:renewal') as typeof renewalChannel;

/**
 * Whether acquisitions or holds have a subscriber. Without one, this check is all that tracing costs an acquisition.
 */
export function isTraced(): boolean {
  return hasSubscribers(acquireChannel) || hasSubscribers(holdChannel);
}

/** As `TracingChannel.hasSubscribers`, which Bun 1.4 does not have. */
export function hasSubscribers<T extends object>(channels: TracingChannel<unknown, T>): boolean {
  return (
    channels.start.hasSubscribers ||
    channels.end.hasSubscribers ||
    channels.asyncStart.hasSubscribers ||
    channels.asyncEnd.hasSubscribers ||
    channels.error.hasSubscribers
  );
}

/** A batch of renewals was answered, or has failed. @param sentAt - monotonic time */
export function tellRenewal(clientId: string, locks: number, sentAt: number, error?: Error): void {
  if (renewalChannel.hasSubscribers) tellRenewalTook(clientId, locks, performance.now() - sentAt, error);
}

/** As {@link tellRenewal}, for a batch of the watchdog thread. @param ms - how long it took */
export function tellRenewalTook(clientId: string, locks: number, ms: number, error?: Error): void {
  if (!renewalChannel.hasSubscribers) return;
  renewalChannel.publish(error === undefined ? { clientId, locks, ms } : { clientId, locks, ms, error });
}
