import type { SimSocket } from '../net/SimSocket';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import { ReplyParser } from './ReplyParser';

/** A command has not been answered, or could not be sent. */
export class JavaTimeoutError extends Error {
  override readonly name = 'JavaTimeoutError';
  /** @param sent - whether it may arrive all the same */
  constructor(
    text: string,
    readonly sent: boolean,
  ) {
    super(text);
  }
}

/** The default `timeout`, in ms: how long a reply may take. */
export const RESPONSE_MS = 3_000;
/** The default `pingConnectionInterval`, in ms. */
const PING_MS = 30_000;
/** How long a command waits for a connection, in ms: all its attempts together. */
const CONNECT_MS = 12_000;
/** Pauses between attempts to connect double up to this, in ms. */
const LONGEST_PAUSE_MS = 4_096;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** Rejects if it takes longer than so many ms. @param sent - whether it may arrive all the same */
export function within<T>(ms: number, what: string, promise: Promise<T>, sent: boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new JavaTimeoutError(`${what}: no answer in ${ms} ms`, sent)), ms);
    promise.then(
      (value) => (clearTimeout(timer), resolve(value)),
      (error: Error) => (clearTimeout(timer), reject(error)),
    );
  });
}

/** One connection of a Java client, which comes back whenever it breaks. */
export class JavaConnection {
  readonly #connect: () => SimSocket;
  readonly #message: (channel: string, message: string) => void;
  readonly #connected: () => void;
  #socket: SimSocket | undefined;
  #open = false;
  #closed = false;
  #pause = 2;
  #pending: Waiting[] = [];
  #waiting: (() => void)[] = [];
  #ping: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(
    connect: () => SimSocket,
    connected: () => void = () => undefined,
    message: (channel: string, message: string) => void = () => undefined,
  ) {
    this.#connect = connect;
    this.#connected = connected;
    this.#message = message;
    this.#begin();
  }

  /**
   * Sends a command. What was under way when the connection breaks is never answered.
   *
   * @throws RedisError
   * @throws JavaTimeoutError
   */
  async send(...words: string[]): Promise<Reply> {
    if (!this.#open)
      await within(CONNECT_MS, 'connecting', new Promise<void>((resolve) => this.#waiting.push(resolve)), false);
    return within(RESPONSE_MS, words[0]!, this.#write(words), true);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#ping);
    this.#socket?.destroy();
    // Nobody waits for them any longer, a PING among them.
    for (const { reject } of this.#pending.splice(0)) reject(new JavaTimeoutError('closed', true));
  }

  #write(words: readonly string[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#socket!.write(
        Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`, 'latin1'),
      );
    });
  }

  #begin(): void {
    const socket = (this.#socket = this.#connect());
    const parser = new ReplyParser();
    socket.on('error', () => undefined);
    socket.on('connect', () => {
      this.#open = true;
      this.#pause = 2;
      this.#ping = setInterval(() => {
        within(RESPONSE_MS, 'PING', this.#write(['PING']), true).catch(() => socket.destroy());
      }, PING_MS);
      this.#connected();
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
    socket.on('data', (data: Buffer) => {
      for (const reply of parser.read(data.toString('latin1'))) this.#answered(reply);
    });
    socket.on('close', () => {
      this.#open = false;
      clearInterval(this.#ping);
      this.#pending = [];
      if (this.#closed) return;
      this.#retry = setTimeout(() => this.#begin(), this.#pause);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    });
  }

  #answered(reply: Reply): void {
    if (Array.isArray(reply) && reply[0] === 'message') {
      this.#message(reply[1] as string, reply[2] as string);
      return;
    }
    const waiting = this.#pending.shift();
    if (reply instanceof RedisError) waiting?.reject(reply);
    else waiting?.resolve(reply);
  }
}
