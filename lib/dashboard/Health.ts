import type { RedissonClient } from '../api';
import { CommandError, CommandTimeoutError, ConnectionError, ShutdownError } from '../errors';
import type { HealthView } from './wire';

/** Between two PINGs, in ms. */
const PING_MS = 5_000;
/** An answer that takes longer is slow, in ms. */
const SLOW_MS = 1_000;
/** How Redis denies a command; in a script the versions of Redis each say it in their own words. */
const DENIED = /^(?:NOPERM|NOAUTH|WRONGPASS)\b|^ERR (?:ACL failure in script|The user executing the script can't run)/;

/** How Redis is: what the watch and the connection tell, and how fast it answers. */
export class Health {
  readonly #redisson: RedissonClient;
  readonly #onChange: () => void;
  #view: HealthView = { state: 'connecting', message: 'Connecting to Redis.', since: Date.now() };
  #outage: Error | undefined;
  #pingMs: number | undefined;
  #pingSentAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #slowTimer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(redisson: RedissonClient, onChange: () => void) {
    this.#redisson = redisson;
    this.#onChange = onChange;
  }

  get view(): HealthView {
    return this.#view;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#outage = undefined;
    this.#timer = setInterval(() => this.#ping(), PING_MS).unref();
    this.#stopListening = this.#redisson.onConnectionChange(() => this.#update());
    this.#ping();
    this.#update();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#slowTimer);
    this.#timer = undefined;
    this.#stopListening?.();
    this.#pingSentAt = undefined;
  }

  /** @param error - why Redis cannot be looked at; `undefined`: it can again */
  outage(error: Error | undefined): void {
    this.#outage = error;
    this.#update();
  }

  #ping(): void {
    // One at a time: a server that hangs is not asked again and again.
    if (this.#pingSentAt !== undefined) return;
    const sentAt = performance.now();
    this.#pingSentAt = sentAt;
    this.#slowTimer = setTimeout(() => this.#update(), SLOW_MS).unref();
    const done = (ms: number | undefined): void => {
      if (this.#pingSentAt !== sentAt) return;
      this.#pingSentAt = undefined;
      clearTimeout(this.#slowTimer);
      this.#pingMs = ms;
      this.#update();
    };
    // Why it fails, the watch tells too; a user without the right to PING has no round trip to show.
    this.#redisson.ping().then(done, () => done(undefined));
  }

  #update(): void {
    const { state, message } = this.#judge();
    const changed = state !== this.#view.state || message !== this.#view.message;
    const since = state === this.#view.state ? this.#view.since : Date.now();
    const pingMs = this.#pingMs === undefined ? undefined : Math.round(this.#pingMs * 10) / 10;
    const samePing = pingMs === this.#view.pingMs;
    this.#view = { state, message, since, ...(pingMs !== undefined && { pingMs }) };
    if (changed || !samePing) this.#onChange();
  }

  #judge(): Pick<HealthView, 'state' | 'message'> {
    const connection = this.#redisson.state;
    if (connection === 'closed') return { state: 'closed', message: 'The Redisson client of this page is shut down.' };
    if (this.#outage !== undefined) return judgeError(this.#outage);
    if (connection === 'reconnecting')
      return { state: 'down', message: 'The connection to Redis is lost. Trying again.' };
    if (connection === 'connecting') return { state: 'connecting', message: 'Connecting to Redis.' };
    const waitingMs = this.#pingSentAt === undefined ? 0 : performance.now() - this.#pingSentAt;
    if (waitingMs >= SLOW_MS - 1) return { state: 'slow', message: 'Redis takes more than a second to answer.' };
    if (this.#pingMs !== undefined && this.#pingMs >= SLOW_MS) {
      return { state: 'slow', message: `Redis took ${(this.#pingMs / 1_000).toFixed(1)} s to answer.` };
    }
    return { state: 'ok', message: '' };
  }
}

/** What an error of ours says of Redis. Errors hold no password, no arguments and no script (api: errors). */
export function judgeError(error: Error): Pick<HealthView, 'state' | 'message'> {
  const { cause } = error;
  const reason = cause instanceof Error ? cause.message : error.message;
  if (error instanceof ShutdownError) return { state: 'closed', message: error.message };
  if (error instanceof CommandTimeoutError)
    return { state: 'slow', message: `Redis does not answer in time: ${error.message}` };
  if (error instanceof ConnectionError) return { state: 'down', message: `Redis cannot be reached: ${error.message}` };
  if (error instanceof CommandError && DENIED.test(reason)) {
    return { state: 'denied', message: `Redis denies a command: ${reason}. See "Dashboard" in docs/security.md.` };
  }
  return { state: 'error', message: `Redis refuses a command: ${reason}` };
}
