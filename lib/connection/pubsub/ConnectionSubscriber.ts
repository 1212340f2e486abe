import pDefer, { type DeferredPromise } from 'p-defer';
import type { Redis } from 'ioredis';
import { CommandError, ShutdownError } from '../../errors';
import { arrived } from '../../util/Alarm';
import { chunks } from '../../util/collections';
import { runOutside } from '../../util/outside';
import { inTime } from '../../util/timing';
import { driverError } from '../link/driverError';
import { Handshake } from '../link/Handshake';
import { Heartbeat } from './Heartbeat';
import { OUT_OF_STEP_TEXT } from '../link/ioredisCompat';
import type { Logins } from '../link/Logins';
import { classify, isReply } from '../link/replyErrors';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/** Pause before channels are subscribed again that a server refused for now, in ms. */
const RETRY_MS = 200;
/** Channels per command: they are arguments of one call, which cannot have 100 000. */
const CHANNELS_PER_COMMAND = 1_000;

/** How a connection listens. */
export interface ListenOptions {
  /** Longest time for a reply, in ms. */
  readonly timeout: number;
  /** Called when the server no longer answers: other connections to it may be dead, too. */
  readonly onSilence?: () => void;
  /** Set for sharded pub/sub: called with each channel whose slot is on another node, after it is forgotten here. */
  readonly moved?: ((channel: string, error: Error) => void) | undefined;
  /** Keeps the connection logged in, where passwords change. */
  readonly logins?: Logins | undefined;
  /** Makes another connection like it; with `logins`. */
  readonly open?: () => Redis;
}

/**
 * Listens on one connection of its own, to classic channels or to those of one shard.
 *
 * A channel is: wanted (asked for, not acknowledged) -> live -> (connection lost) wanted -> live ... -> forgotten.
 * While the connection is down channels are only recorded; when it is back, all that are wanted are subscribed at
 * once.
 * With `logins`: a listening connection cannot log in again (on RESP2), so a new one replaces it. Both are read until
 * the new one has every channel and the old one has delivered all it had: no message is lost, and some come twice.
 *
 * Its commands run outside any caller's context: many callers share a subscription, and it may be sent again later.
 */
export class ConnectionSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  #redis: Redis;
  readonly #options: ListenOptions;
  readonly #sharded: boolean;
  #handshake: Handshake;
  /** The connection that is about to replace this one. */
  #next: Redis | undefined;
  /**
   * All that have not ended, also the old one while it delivers the rest, each with the function that ends its
   * logins.
   */
  readonly #connections = new Map<Redis, (() => void) | undefined>();
  /** Every channel with a listener, and the promise of its acknowledgement while one is awaited. */
  readonly #wanted = new Map<string, DeferredPromise<void> | undefined>();
  /** What is to be sent at the end of this turn of the event loop. */
  #collecting: 'subscribe' | 'unsubscribe' | undefined;
  #collected: string[] = [];
  #ready: boolean;
  #closed = false;
  /** Whether a gap was reported, and its end was not yet. */
  #interrupted = false;
  #retry: NodeJS.Timeout | undefined;
  /** The channels that are asked for again then. */
  readonly #again = new Set<string>();
  readonly #heartbeat: Heartbeat;

  /** @param redis - a connection of ours, made with `ownOptions` */
  constructor(redis: Redis, options: ListenOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#sharded = options.moved !== undefined;
    this.#ready = redis.status === 'ready';
    this.#heartbeat = new Heartbeat(() => this.#redis, options.timeout, options.onSilence);
    this.#handshake = this.#attach(redis);
  }

  /** Listens to the events of a connection. */
  #attach(redis: Redis): Handshake {
    const handshake = new Handshake(redis, this.#options.timeout);
    this.#connections.set(redis, this.#options.logins?.keep(redis, { reopen: () => this.#reopen() }));
    redis.on(this.#sharded ? 'smessage' : 'message', (channel: string, message: string) =>
      this.events?.message(channel, message),
    );
    redis.on('ready', () => {
      if (handshake.refused) return;
      handshake.done();
      if (redis === this.#next) return void this.#change(redis, handshake);
      if (redis !== this.#redis) return;
      this.#ready = true;
      this.#restore();
    });
    redis.once('end', () => this.#connections.delete(redis));
    redis.on('close', () => {
      if (redis !== this.#redis) return;
      this.#quiet();
      const isGap = this.#ready && this.#wanted.size > 0;
      this.#ready = false;
      if (!isGap) return;
      this.#interrupted = true;
      this.events?.interrupted();
    });
    // ioredis 6: the server has dropped a channel whose slot it gave away. Asking again shows which, and where it is.
    if (this.#sharded) (redis as NodeJS.EventEmitter).on('moved', () => this.#askAgainIn(0, this.#wanted.keys()));
    redis.on('error', (error: Error) => {
      // The command connection reports everything else to the callers.
      if (error.message.startsWith(OUT_OF_STEP_TEXT)) redis.disconnect(true);
    });
    return handshake;
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    const waiting = this.#wanted.get(channel) ?? pDefer<void>();
    this.#wanted.set(channel, waiting);
    this.#heartbeat.start(() => this.probe());
    if (this.#ready) this.#collect('subscribe', channel);
    return waiting.promise;
  }

  unsubscribe(channel: string): void {
    if (this.#ready) this.#collect('unsubscribe', channel);
    this.#forget(channel);
  }

  /** The channels of a turn of the event loop are sent together, in the order in which they were decided. */
  #collect(what: 'subscribe' | 'unsubscribe', channel: string): void {
    if (this.#collecting !== what && this.#collected.length > 0) this.#flush();
    this.#collecting = what;
    if (this.#collected.push(channel) === 1) process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    const channels = this.#collected;
    if (channels.length === 0) return;
    this.#collected = [];
    // Closed since: what is wanted is subscribed when it is open again.
    if (!this.#ready) return;
    runOutside(() => {
      if (this.#collecting === 'subscribe') return this.#heartbeat.mustAnswer(this.#send(channels));
      const redis = this.#redis;
      for (const some of this.#chunks(channels)) {
        const left = this.#sharded ? redis.sunsubscribe(...some) : redis.unsubscribe(...some);
        left.catch(() => undefined);
      }
    });
  };

  probe(): void {
    if (this.#ready && this.#wanted.size > 0) this.#heartbeat.ping();
  }

  /** Commands go to that server now: listens there, too. @param endpoint - as of {@link endpointOf} */
  follow(endpoint: string): void {
    if (this.#ready && endpointOf(this.#redis) !== endpoint) this.#redis.disconnect(true);
  }

  /** Messages may have been lost on the way to this server. @param stays - whether later messages will arrive */
  missed(stays: boolean): void {
    if (!this.#ready) return;
    if (stays) this.events?.restored();
    else this.#redis.disconnect(true);
  }

  close(): void {
    this.#closed = true;
    this.#quiet();
    this.#handshake.done();
    this.#heartbeat.stop();
    for (const waiting of this.#wanted.values()) waiting?.reject(new ShutdownError());
    this.#wanted.clear();
    for (const [redis, leave] of this.#connections) {
      leave?.();
      redis.disconnect();
    }
  }

  /** The login of the connection is about to expire. */
  #reopen(): void {
    if (this.#closed || this.#next !== undefined) return;
    const { open } = this.#options;
    if (open === undefined) return;
    runOutside(() => {
      this.#next = open();
      this.#attach(this.#next);
    });
  }

  /** The new connection is usable: it subscribes every channel, and then replaces the old one. */
  async #change(next: Redis, handshake: Handshake): Promise<void> {
    const live = new Set<string>();
    for (;;) {
      const missing = [...this.#wanted.keys()].filter((channel) => !live.has(channel));
      if (missing.length === 0) break;
      const replies = await Promise.allSettled(this.#chunks(missing).map((some) => this.#ask(next, some)));
      // Closed meanwhile: `ready` comes again. Refused channels are requested once more after it has taken over.
      if (next !== this.#next || next.status !== 'ready') return;
      for (const channel of missing) live.add(channel);
      if (replies.some(({ status }) => status === 'rejected')) this.#interrupted = true;
    }
    const old = this.#redis;
    const gap = !this.#ready || this.#interrupted;
    // Its answer is the one that callers wait for.
    this.#flush();
    this.#redis = next;
    this.#handshake = handshake;
    this.#next = undefined;
    this.#quiet();
    this.#ready = true;
    for (const channel of live) if (!this.#wanted.has(channel)) this.unsubscribe(channel);
    if (gap) this.#restore();
    // Messages that the old one received before the new one was subscribed come before this answer.
    const answer = runOutside(() => old.ping()).catch(() => undefined);
    const missed = (await inTime(answer, this.#options.timeout))?.value === undefined;
    if (this.#closed) return;
    old.disconnect();
    if (missed) this.#restore();
  }

  #forget(channel: string): void {
    this.#wanted.delete(channel);
    if (this.#wanted.size === 0) this.#heartbeat.stop();
  }

  /** Nothing more can be sent. */
  #quiet(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#again.clear();
    this.#collected = [];
    this.#heartbeat.expectNothing();
  }

  #askAgainIn(ms: number, channels: Iterable<string>): void {
    for (const channel of channels) this.#again.add(channel);
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      const again = [...this.#again].filter((channel) => this.#wanted.has(channel));
      this.#again.clear();
      if (this.#ready) this.#restore(again);
    }, ms).unref();
  }

  #restore(channels: readonly string[] = [...this.#wanted.keys()]): void {
    if (channels.length > 0) void this.#send(channels).then((sent) => sent && this.#restored());
    else if (this.#interrupted) this.#restored();
  }

  #restored(): void {
    this.#interrupted = false;
    this.events?.restored();
  }

  /** @returns whether the connection held until all were answered */
  async #send(channels: readonly string[]): Promise<boolean> {
    const sent = this.#chunks(channels).map((some) => this.#settle(this.#ask(this.#redis, some), some));
    return (await Promise.all(sent)).every((held) => held);
  }

  /** As many channels as one command can have: those of one slot, where they are sharded. */
  #chunks(channels: readonly string[]): string[][] {
    return chunks(channels, this.#sharded ? 1 : CHANNELS_PER_COMMAND);
  }

  #ask(redis: Redis, channels: readonly string[]): Promise<unknown> {
    return this.#sharded ? redis.ssubscribe(...channels) : redis.subscribe(...channels);
  }

  async #settle(sent: Promise<unknown>, channels: readonly string[]): Promise<boolean> {
    const waiting = channels.map((channel) => this.#wanted.get(channel));
    try {
      await sent;
    } catch (error) {
      const failure = classify(error as Error);
      // The next `ready` subscribes what is still wanted.
      if (failure === 'lost' || failure === 'unsent') return false;
      // The server refuses all for one that it refuses: it says which when each is asked for alone.
      if (channels.length > 1 && failure !== 'unavailable') return this.#oneByOne(channels);
      channels.forEach((channel, i) => this.#failed(channel, waiting[i], error as Error, failure === 'unavailable'));
      return true;
    }
    channels.forEach((channel, i) => this.#live(channel, waiting[i]));
    return true;
  }

  async #oneByOne(channels: readonly string[]): Promise<boolean> {
    const wanted = channels.filter((channel) => this.#wanted.has(channel));
    const held = await Promise.all(wanted.map((one) => this.#settle(this.#ask(this.#redis, [one]), [one])));
    return held.every((one) => one);
  }

  /**
   * @param waiting - the waiter of the request: after an UNSUBSCRIBE there is a new waiter, with a request of its own
   */
  #live(channel: string, waiting: DeferredPromise<void> | undefined): void {
    arrived.replies++;
    if (waiting === undefined || this.#wanted.get(channel) !== waiting) return;
    this.#wanted.set(channel, undefined);
    waiting.resolve();
  }

  /** @param asked - the waiter of the request, see {@link #live} */
  #failed(channel: string, asked: DeferredPromise<void> | undefined, error: Error, forNow: boolean): void {
    const waiting = this.#wanted.get(channel);
    if (!this.#wanted.has(channel) || (waiting !== undefined && waiting !== asked)) return;
    if (isReply(error) && error.message.startsWith('MOVED')) {
      this.#forget(channel);
      this.#options.moved?.(channel, error);
    } else if (forNow || waiting === undefined) {
      this.#askAgainIn(RETRY_MS, [channel]);
    } else {
      this.#forget(channel);
      waiting.reject(new CommandError(`subscribe to channel '${channel}'`, driverError(error)));
    }
  }
}

/** The address and port a connection leads to, as the operating system has them. */
export function endpointOf(redis: Redis): string {
  return `${redis.stream?.remoteAddress}:${redis.stream?.remotePort}`;
}
