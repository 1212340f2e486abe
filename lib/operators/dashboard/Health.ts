import type { RedissonClient } from '../../api';
import { CommandError, CommandTimeoutError, ConnectionError, ShutdownError } from '../../errors';
import { given } from '../../util/collections';
import type { HealthReport } from '../inspection';
import type { HealthView } from './wire';

/** Time between two PINGs, in ms. */
const PING_MS = 500;
/** A reply that takes longer counts as slow, in ms. */
const SLOW_MS = 1_000;
/** A round trip that has changed only a little is sent this often at most, in ms. */
const PING_TOLD_MS = 5_000;
/** How long pages show that locks were lost, in ms. */
const LOSS_SHOWN_MS = 15 * 60_000;
const SILENT = {
  state: 'silent',
  message: 'Redis does not answer. It is frozen or busy, or the way to it is cut; its connection stands.',
} as const;
/** How Redis denies a command. Inside a script, each version of Redis words it differently. */
const DENIED = /^(?:NOPERM|NOAUTH|WRONGPASS)\b|^ERR (?:ACL failure in script|The user executing the script can't run)/;

/** The health of Redis: what the watch and the connection report, and how fast Redis replies. */
export class Health {
  readonly #redisson: RedissonClient;
  readonly #onChange: () => void;
  #view: HealthView = { state: 'connecting', message: 'Connecting to Redis.', since: Date.now() };
  #outage: Error | undefined;
  #pingMs: number | undefined;
  /** When the oldest PING without a reply was sent. */
  #unansweredSince: number | undefined;
  #pinging = false;
  #pingToldAt = 0;
  #report: HealthReport = {};

  constructor(redisson: RedissonClient, onChange: () => void) {
    this.#redisson = redisson;
    this.#onChange = onChange;
  }

  get view(): HealthView {
    return this.#view;
  }

  /** Sends PINGs until the caller calls the returned function. */
  start(): () => void {
    this.#outage = undefined;
    const timer = setInterval(() => this.#ping(), PING_MS).unref();
    this.#ping();
    this.update();
    return () => {
      clearInterval(timer);
      this.#unansweredSince = undefined;
      this.#pinging = false;
      this.#report = {};
    };
  }

  /** What the watch knows of Redis besides whether it answers. */
  report(report: HealthReport): void {
    this.#report = report;
    this.update();
  }

  /** @param error - why Redis cannot be read; `undefined`: it can be read again */
  outage(error: Error | undefined): void {
    this.#outage = error;
    this.update();
  }

  #ping(): void {
    // One PING at a time: a server that hangs gets no more of them. It may count as slow by now.
    if (this.#pinging) return this.update();
    this.#pinging = true;
    this.#unansweredSince ??= performance.now();
    const done = (ms: number | undefined): void => {
      this.#pinging = false;
      this.#unansweredSince = undefined;
      this.#pingMs = ms;
      this.update();
    };
    this.#redisson.ping().then(done, (error: unknown) => {
      // A user without the right to PING has no round trip to show. After a time-out, the PING still counts as
      // unanswered.
      if (error instanceof CommandTimeoutError) this.#pinging = false;
      else done(undefined);
    });
  }

  /** Judges again, since something may have changed. */
  update(): void {
    const { state, message } = this.#judge();
    const { lost } = this.#view;
    const { lost: told } = this.#report;
    const shownLoss = told !== undefined && Date.now() - told.at < LOSS_SHOWN_MS ? told : undefined;
    const changed = state !== this.#view.state || message !== this.#view.message || lost !== shownLoss;
    const since = state === this.#view.state ? this.#view.since : Date.now();
    const pingMs = this.#pingMs === undefined ? undefined : Math.round(this.#pingMs * 10) / 10;
    // The round trip changes a little twice a second: that alone is no reason to update pages.
    const isFirst = this.#view.pingMs === undefined && pingMs !== undefined;
    const samePing = pingMs === this.#view.pingMs || (!isFirst && Date.now() - this.#pingToldAt < PING_TOLD_MS);
    if (!changed && samePing) return;
    this.#pingToldAt = Date.now();
    this.#view = given({ state, message, since, pingMs, lost: shownLoss });
    this.#onChange();
  }

  #judge(): Pick<HealthView, 'state' | 'message'> {
    const connection = this.#redisson.state;
    if (connection === 'closed') return { state: 'closed', message: 'The Redisson client of this page is shut down.' };
    const waitingMs = this.#unansweredSince === undefined ? 0 : performance.now() - this.#unansweredSince;
    // A server that does not reply gives no other information. Its client calls itself disconnected a moment later.
    const isOpen = connection === 'ready' || this.#view.state === SILENT.state;
    if (isOpen && waitingMs >= SLOW_MS - 1) return SILENT;
    const { refuses, denied } = this.#report;
    // Before what a scan says: it fails as well where a part of a cluster is gone.
    if (refuses !== undefined) return { state: 'refused', message: refuses };
    if (this.#outage !== undefined) return judgeError(this.#outage);
    if (denied !== undefined) return { state: 'denied', message: denied };
    if (connection === 'reconnecting')
      return { state: 'down', message: 'The connection to Redis is lost. Trying again.' };
    if (connection === 'connecting') return { state: 'connecting', message: 'Connecting to Redis.' };
    if (this.#pingMs !== undefined && this.#pingMs >= SLOW_MS) {
      return { state: 'slow', message: `Redis took ${(this.#pingMs / 1_000).toFixed(1)} s to answer.` };
    }
    return { state: 'ok', message: '' };
  }
}

/** What one of our errors says about Redis. Our errors contain no password, arguments or script (api: errors). */
function judgeError(error: Error): Pick<HealthView, 'state' | 'message'> {
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
