import type { Redis } from 'ioredis';
import * as net from 'node:net';
import { runOutside } from '../../util/outside';
import { jittered } from '../../util/timing';
import { driverError, hinted, replyError, TLS_ALERT, TLS_HINTS } from './driverError';
import { isOfReadyCheck, READY_CHECK_TEXT } from './ioredisCompat';
import { LoginError } from './Logins';
import { isReply, isReset, isTemporary } from './replyErrors';

/**
 * A connection on which a command was refused is closed after this many ms and replaced. Nothing is sent on it
 * meanwhile.
 */
const REFUSED_MS = 1_000;
/** The same where the server could not serve it just then. */
const BUSY_MS = 200;
/**
 * What ioredis does not report: the server refuses the connection before it reads a command, and ioredis takes that
 * for the answer to a command whose failure it ignores; or the server has no password although one was given.
 */
const TURNED_AWAY =
  /^-((?:ERR max number of clients|DENIED |ERR AUTH <password> called without|ERR Client sent AUTH, but|ERR wrong number of arguments for 'auth').*?)\r?$/m;
/** ioredis asks again by itself, and does not report it. */
const LOADING = /^loading:1\r?$/m;

/** The answer of a proxy, or a managed service, that does not offer INFO to clients. */
const NO_INFO = /unknown command|unsupported|disabled|\bnot (?:available|support|allowed|permitted)/i;

/** The error of ioredis, versions 6 and 5, for an answer that Redis cannot give. */
const NO_RESP = /(?:Unknown RESP type|Protocol error, got) .+? Please report this\.?/s;
/** The same where the answer is a TLS alert. */
const ALERT = /RESP type 21 |got "(?:\\u0015|\x15)/;
/** How a connection ends when TLS is used with a server that does not speak it. */
const NO_TLS = /ETIMEDOUT|wrong version number|packet length too long|before secure TLS/;

/** The text of ioredis, with our words in place of the details of its parser. */
export function withoutParser(text: string): string {
  return text.replace(NO_RESP, (found) =>
    ALERT.test(found) ? TLS_HINTS.theirs : 'no Redis answers there: what came is not its protocol',
  );
}

/** Called on trouble. @param refused - the server refuses the connection for good */
export type TellTrouble = (error: Error, refused: boolean) => void;

/**
 * The steps from an open connection to a usable one. SELECT, AUTH and HELLO belong to them: where the server refuses
 * one of these, ioredis would go on anyway (in database 0, which has the locks of other applications). So nothing may
 * be sent on such a connection, and it is opened again after a pause.
 *
 * It also closes a connection that opens and then stays silent: the kernel of a stopped process still accepts
 * connections. ioredis would wait for ever, while another server may long have taken over.
 *
 * States: closed -> open -> (refused) -> usable -> closed ...
 */
export class Handshake {
  readonly #redis: Redis;
  readonly #limitMs: number;
  readonly #tell: TellTrouble | undefined;
  #timer: NodeJS.Timeout | undefined;
  #refused = false;
  #stopReading: (() => void) | undefined;
  /** The address of the open connection while the server has sent nothing; not with TLS, where a refusal is no text. */
  #silent: net.NetConnectOpts | undefined;
  #stopHearing: (() => void) | undefined;

  /**
   * @param limitMs - how long a connection may take from open to usable, in ms
   * @param tell - called with refusals, and with every other `error` event of the connection
   */
  constructor(redis: Redis, limitMs: number, tell?: TellTrouble) {
    this.#redis = redis;
    this.#limitMs = limitMs;
    this.#tell = tell;
    redis.on('connect', () => this.#opened());
    redis.on('close', () => {
      this.#refused = false;
      this.done();
    });
    redis.on('end', () => this.#stopHearing?.());
    // Without a listener ioredis prints to the console. The error becomes the cause of the callers' errors.
    redis.on('error', (error: Error) => {
      // ioredis reports only the first error of a socket. TLS may have a second one: the alert of the server.
      if (redis.stream?.listenerCount('error') === 0) redis.stream.on('error', () => undefined);
      this.#failed(error);
    });
  }

  /** Whether the server refused a step. Such a connection may not be used, even if ioredis calls it ready. */
  get refused(): boolean {
    return this.#refused;
  }

  /** The connection is usable, or closed. */
  done(): void {
    clearTimeout(this.#timer);
    this.#stopReading?.();
    this.#stopReading = undefined;
    this.#silent = undefined;
  }

  #opened(): void {
    this.done();
    this.#refused = false;
    this.#leaveIn(this.#limitMs);
    const { stream } = this.#redis;
    this.#silent = this.#tell && addressOf(this.#redis);
    const read = (data: Buffer): void => {
      this.#silent = undefined;
      this.#read(data.toString('latin1'));
    };
    stream.on('data', read);
    this.#stopReading = () => stream.off('data', read);
  }

  #read(text: string): void {
    if (TLS_ALERT.test(text)) {
      this.#refused = true;
      this.#leaveIn(jittered(REFUSED_MS));
      return this.#tell?.(driverError(new Error(TLS_HINTS.theirs)), true);
    }
    const [, reply] = TURNED_AWAY.exec(text) ?? [];
    if (reply !== undefined) return this.#failed(replyError(reply));
    if (!LOADING.test(text)) return;
    this.#leaveIn(this.#limitMs);
    this.#tell?.(replyError('LOADING Redis is loading the dataset in memory'), false);
  }

  #failed(error: Error): void {
    if (error instanceof LoginError) return this.#tell?.(driverError(error), error.final);
    const { tls } = this.#redis.options;
    if (tls && NO_TLS.test(error.message)) return this.#tell?.(hinted(error, TLS_HINTS.maybeNotTheirs), false);
    if (NO_RESP.test(error.message)) {
      return this.#refused
        ? undefined
        : this.#tell?.(hinted(new Error('no Redis answers there'), 'what came is not its protocol'), false);
    }
    const reply = replyOf(error);
    // ioredis asks INFO whether the server has loaded its data. One that has no INFO answers LOADING to commands.
    if (reply !== undefined && isOfReadyCheck(error) && NO_INFO.test(reply.message)) {
      this.#redis.options.enableReadyCheck = false;
      return;
    }
    if (isReset(error)) {
      if (this.#silent !== undefined) return this.#hear(this.#silent, error);
      // The error after a reset says less than the reply that we are about to read.
      if (this.#stopHearing !== undefined) return;
    }
    // The error that follows a refusal (a reset of the connection) says less than the refusal.
    if (reply === undefined) return this.#refused ? undefined : this.#tell?.(driverError(error), isRefusal(error));
    const forNow = isTemporary(reply);
    this.#refused = true;
    this.#leaveIn(jittered(forNow ? BUSY_MS : REFUSED_MS));
    this.#tell?.(reply, !forNow);
  }

  /** The connection was reset before we could read anything: checks whether the server has something to say. */
  #hear(address: net.NetConnectOpts, error: Error): void {
    this.#silent = undefined;
    this.#stopHearing?.();
    this.#stopHearing = hearRefusal(address, (text) => {
      this.#stopHearing = undefined;
      const [, said] = TURNED_AWAY.exec(text) ?? [];
      if (said === undefined) return this.#tell?.(hinted(error, TLS_HINTS.maybeTheirs), false);
      const reply = replyError(said);
      this.#tell?.(reply, !isTemporary(reply));
    });
  }

  #leaveIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#redis.disconnect(true), ms);
    this.#timer.unref();
  }
}

/** The address of the server: from the socket, or, when a quick close made the socket forget it, from the options. */
function addressOf({ options, stream }: Redis): net.NetConnectOpts | undefined {
  if (options.tls) return undefined;
  if (options.path) return { path: options.path };
  const { remoteAddress: host, remotePort: port } = stream;
  if (port !== undefined) return { host, port };
  const asked = !options.Connector && !options.sentinels && options.port !== undefined;
  return asked ? { host: options.host, port: options.port! } : undefined;
}

/** The reply of the server, where the error is one. */
function replyOf(error: Error): Error | undefined {
  if (isReply(error)) return driverError(error);
  return READY_CHECK_TEXT.test(error.message) ? replyError(error.message.replace(READY_CHECK_TEXT, '')) : undefined;
}

/**
 * For errors that are no replies but contain some (of a sentinel, of one of several nodes), or are about a
 * certificate.
 */
const NO_ENTRY = /\b(NOAUTH|WRONGPASS|NOPERM|DENIED)\b|invalid password|certificate|\bERR_TLS_CERT/i;

/** Permanent: a retry cannot help. */
function isRefusal(error: Error): boolean {
  return NO_ENTRY.test(error.message) || NO_ENTRY.test((error as NodeJS.ErrnoException).code ?? '');
}

/** A server that refuses a connection says so at once; one that waits for the client's first command sends nothing. */
const LISTEN_MS = 250;

/**
 * Connects to a server and reads without sending anything. A server that has no room for another client, or accepts
 * none from another host, says why and closes. If we have sent something by then, the kernel resets the connection,
 * and the message is lost.
 *
 * @param done - called once with the message, '' for none; not after the returned function has been called
 * @returns a function that ends it
 */
function hearRefusal(address: net.NetConnectOpts, done: (text: string) => void): () => void {
  return runOutside(() => {
    let text = '';
    const socket = net.connect(address);
    const timer = setTimeout(() => socket.destroy(), LISTEN_MS).unref();
    socket.setEncoding('latin1').on('data', (data: string) => (text += data));
    socket.on('error', () => undefined);
    const closed = (): void => {
      clearTimeout(timer);
      done(text);
    };
    socket.once('close', closed).unref();
    return () => {
      socket.off('close', closed).destroy();
      clearTimeout(timer);
    };
  });
}
