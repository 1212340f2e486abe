import type { Redis } from 'ioredis';
import { Alarm } from '../../util/Alarm';
import { runOutside } from '../../util/outside';
import { Handshake } from './Handshake';
import { senderOf, type Send } from './ioredisCompat';
import type { CommandArgs, Link, LinkEvents, ReplicaAck } from './Link';
import type { Logins } from './Logins';
import { WriteBatch } from './WriteBatch';
import { Replicas, type Confirmation } from './Replicas';
import { isReply, isReset, unsent } from './replyErrors';
import { TLS_HINTS } from './driverError';

/** A connection is replaced when commands have timed out on it for this many command time-outs. */
const SILENT_TIMEOUTS = 2;

/** After a silence this long, in ms, a proxy or a firewall on the way may have dropped the connection ... */
const SILENT_MS = 10_000;
/** ... so the first answer after it may take only this part of the command time-out. */
const SILENT_PART = 1 / 3;

/** The settings of a link to one server. */
export interface StandaloneOptions {
  /** The address, for errors. */
  readonly address: string;
  /** Longest time for a reply, in ms. */
  readonly timeout: number;
  /** How long replicas may take to confirm, in ms; 0: they are never asked. */
  readonly syncTimeout: number;
  /** How often to check that the server is the master, in ms; the link leaves it when it is not. @default never */
  readonly roleInterval?: number | undefined;
  /** Keeps the connection logged in, where passwords change. */
  readonly logins?: Logins | undefined;
  /** Called when the link is closed. */
  readonly onClose?: (() => void) | undefined;
  /** Called when a command got no answer: other connections to that server may be dead, too. */
  readonly onSilence?: () => void;
}

/**
 * One connection to one server: the only one, the master that others name, or a node of a cluster. ioredis
 * reconnects; see {@link ownOptions}.
 *
 * States: connecting -> open (replicas are counted) -> ready -> (lost) connecting ...; refused while the server
 * refuses it.
 */
export class StandaloneLink implements Link {
  events: LinkEvents | undefined;
  readonly publishCommand = 'PUBLISH';
  readonly address: string;
  readonly syncTimeout: number;
  readonly #redis: Redis;
  readonly #send: Send;
  readonly #batch: WriteBatch;
  readonly #options: StandaloneOptions;
  readonly #handshake: Handshake;
  readonly #replicas: Replicas | undefined;
  readonly #leave: (() => void) | undefined;
  #ready = false;
  /** Whether it was ready before. */
  #again = false;
  #roleTimer: NodeJS.Timeout | undefined;
  /** Set while a probe has no answer. */
  readonly #probe = new Alarm(() => this.#redis.disconnect(true), { judges: () => true });
  /** Set until the first answer after a silence, and the bytes read before it. */
  readonly #firstAnswer = new Alarm(() => this.#hasAnswered(), { judges: () => true });
  #bytesBefore = 0;
  /** Counts the connections: events of an earlier one are ignored. */
  #connection = 0;
  #lastError: Error | undefined;
  /** Since when (monotonic) there is no connection. */
  #closedAt = performance.now();
  #refusal: Error | undefined;
  /** When a command was last sent (monotonic). */
  #sentAt = performance.now();
  /** Since when (monotonic) commands have been sent without any answer after these bytes. */
  #silence: { readonly since: number; readonly bytes: number } | undefined;

  /** @param redis - a connection of ours, made with {@link ownOptions} */
  constructor(redis: Redis, options: StandaloneOptions) {
    this.#redis = redis;
    this.#options = options;
    this.address = options.address;
    this.syncTimeout = options.syncTimeout;
    this.#send = senderOf(redis);
    this.#batch = new WriteBatch(redis, options.syncTimeout > 0);
    this.#handshake = new Handshake(redis, options.timeout, (error, refused) => this.#trouble(error, refused));
    if (options.syncTimeout > 0) {
      const channel = {
        send: (command: string, args: (string | number)[]) => this.#write(command, args),
        last: (action: () => void) => this.#batch.last(action),
      };
      this.#replicas = new Replicas(channel, options.syncTimeout);
    }
    this.#leave = options.logins?.keep(redis, { auth: (args) => this.#write('auth', args) });
    redis.on('connect', () => (this.#refusal = undefined));
    redis.on('ready', () => this.#opened());
    redis.on('close', () => this.#closed());
  }

  /** Whether the connection can be used. */
  get ready(): boolean {
    return this.#ready && this.#redis.status === 'ready' && this.#redis.stream.writable;
  }

  /** The number of the connection, counted up when one is lost. */
  get connection(): number {
    return this.#connection;
  }

  /** Replaces this connection with a new one, unless that has been done. */
  replace(connection: number): void {
    if (connection === this.#connection && this.ready) this.#reconnect();
  }

  get refusal(): Error | undefined {
    return this.#refusal;
  }

  get lastError(): Error | undefined {
    if (this.#lastError !== undefined || this.#redis.status !== 'connecting' || !this.#redis.options.tls)
      return this.#lastError;
    const isLate = performance.now() - this.#closedAt > this.#options.timeout / 2;
    return isLate ? new Error(TLS_HINTS.maybeNotTheirs) : undefined;
  }

  canSend(): boolean {
    return this.ready;
  }

  send(command: string, args: CommandArgs, _key?: string, replicaAck?: ReplicaAck, alone = false): Promise<unknown> {
    if (!this.ready) return Promise.reject(unsent());
    this.#batch.alone = alone;
    const now = performance.now();
    if (now - this.#sentAt > SILENT_MS) this.#mayBeForgotten();
    this.#sentAt = now;
    const reply = this.#write(command, args);
    const confirmed = replicaAck === undefined ? undefined : this.#replicas?.confirm();
    return confirmed === undefined ? reply : acknowledged(reply, confirmed, replicaAck!);
  }

  /** Sends a command to a node that is about to take over its slot, in one write with ASKING. */
  ask(command: string, args: CommandArgs, replicaAck: ReplicaAck | undefined): Promise<unknown> {
    if (this.ready) this.#write('asking', []).catch(() => undefined);
    return this.send(command, args, undefined, replicaAck);
  }

  unanswered(_key: string | undefined, sentAt: number): void {
    const bytes = this.#redis.stream?.bytesRead ?? 0;
    if (this.#silence?.bytes !== bytes) this.#silence = { since: sentAt, bytes };
    this.#options.onSilence?.();
    // No further command may follow that would show whether it answers.
    if (performance.now() - this.#silence.since < SILENT_TIMEOUTS * this.#options.timeout) return this.probe();
    // Another command of the same stall has already replaced the connection.
    if (!this.ready) return;
    // The connection is open but dead (a cable, a firewall, a process that hangs): only a new one can help.
    this.#silence = undefined;
    this.#reconnect();
  }

  /**
   * Replaces the connection if it stays silent. Its unanswered commands are sent again on the next one, where they may
   * be repeated. A further command without an answer does not postpone the check.
   */
  #mayBeForgotten(): void {
    const { bytesRead: bytes } = this.#redis.stream;
    if (this.#firstAnswer.at !== Infinity && this.#bytesBefore === bytes) return;
    this.#bytesBefore = bytes;
    this.#firstAnswer.set(performance.now() + this.#options.timeout * SILENT_PART);
  }

  #hasAnswered(): void {
    if (this.#redis.stream.bytesRead === this.#bytesBefore) this.replace(this.#connection);
  }

  giveUp(): void {
    this.replace(this.#connection);
  }

  /** Checks whether the server is still there, when another connection to it gets no answer. */
  probe(): void {
    if (!this.ready || this.#probe.at !== Infinity) return;
    runOutside(() => {
      this.#probe.set(performance.now() + this.#options.timeout);
      this.#write('ping', []).then(this.#alive, this.#alive);
    });
  }

  readonly #alive = (): void => this.#probe.off();

  close(): Promise<void> {
    this.#handshake.done();
    this.#alive();
    this.#firstAnswer.off();
    clearInterval(this.#roleTimer);
    this.#leave?.();
    this.#options.onClose?.();
    this.#redis.disconnect();
    return Promise.resolve();
  }

  #write(command: string, args: CommandArgs): Promise<unknown> {
    return this.#send(command, args, this.#batch);
  }

  /** Outside any context: the next connection would keep the context in which this one is closed. */
  #reconnect(): void {
    runOutside(() => this.#redis.disconnect(true));
  }

  #opened(): void {
    if (this.#handshake.refused) return;
    if (this.#replicas === undefined) return this.#usable();
    const connection = this.#connection;
    void this.#replicas.read().then(() => {
      if (connection === this.#connection && this.#redis.status === 'ready') this.#usable();
    });
  }

  #usable(): void {
    this.#handshake.done();
    this.#ready = true;
    this.#lastError = undefined;
    const { roleInterval } = this.#options;
    if (roleInterval !== undefined) this.#roleTimer = setInterval(() => void this.#checkRole(), roleInterval).unref();
    this.events?.ready();
    if (this.#again) this.events?.replaced?.(() => true);
    this.#again = true;
  }

  async #checkRole(): Promise<void> {
    if (this.ready && (await this.#replicas?.read()) === 'slave') this.#reconnect();
  }

  #closed(): void {
    clearInterval(this.#roleTimer);
    this.#alive();
    this.#firstAnswer.off();
    this.#closedAt = performance.now();
    this.#connection++;
    this.#replicas?.lost();
    this.#silence = undefined;
    if (!this.#ready) return;
    this.#ready = false;
    this.events?.lost();
  }

  #trouble(error: Error, refused: boolean): void {
    // A server without room for another client often resets the connection before its message can be read.
    if (this.#lastError === undefined || !isReply(this.#lastError) || !isReset(error)) this.#lastError = error;
    // Logins of other connections may have failed before, those to sentinels for example. Calls wait for this one.
    const isEarly = error.name === 'LoginError' && performance.now() - this.#closedAt < this.#options.timeout;
    if (!refused || isEarly) return;
    this.#refusal = error;
    this.events?.refused(error);
  }
}

async function acknowledged(
  reply: Promise<unknown>,
  confirmed: Promise<Confirmation>,
  replicaAck: ReplicaAck,
): Promise<unknown> {
  const value = await reply;
  replicaAck.acked = await confirmed;
  return value;
}
