import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { type Loop, Phase, type SimProcess } from '../engine/Loop';
import type { SimServer } from '../server/SimServer';
import { Wire } from './Wire';

/** How a connection breaks. Times in ms from now. */
export interface Break {
  /** When the client hears of it; `Infinity`: never. */
  readonly clientIn: number;
  /** When the server hears of it. */
  readonly serverIn: number;
  /** How much later than that what the client has written arrives; `undefined`: it is lost. */
  readonly lateBy?: number | undefined;
}

/** A client notices so much later at most that a connection is dead, in ms. */
const DEAD_MS = 9_000;
/** So long after a client knows of it, it has new connections, and has mended what was wrong, in ms. */
const RECOVERY_MS = 5_000;

/** What a fault waits for, to hit where it hurts. */
export type Moment = 'write' | 'reply' | 'message';

/**
 * A connection of a client to a server: for ioredis a socket. Either direction is in order, also through pauses and
 * through what happens after the connection broke.
 */
export class SimSocket extends EventEmitter {
  connecting = true;
  destroyed = false;
  writable = true;
  bytesRead = 0;
  readonly remoteAddress: string;
  readonly process: SimProcess | undefined;
  /** Where it leads. */
  server: SimServer;
  readonly toServer: Wire;
  readonly toClient: Wire;
  /** Breaks it at this moment. */
  trap: { readonly at: Moment; readonly how: Break; readonly sprung?: () => void } | undefined;
  readonly #loop: Loop;
  readonly #context = new AsyncResource('SimSocket');
  #timeout: NodeJS.Timeout | undefined;
  #text = false;

  constructor(loop: Loop, server: SimServer, latency: () => number) {
    super();
    this.#loop = loop;
    this.server = server;
    this.process = loop.current;
    this.remoteAddress = server.address;
    this.toServer = new Wire(
      loop,
      latency,
      undefined,
      (text) => this.server.receive(this, text),
      () => this.server.listening,
    );
    this.toClient = new Wire(loop, latency, this.process, (text) => this.#arrived(text));
    server.accept(this, latency(), (error) => this.#context.runInAsyncScope(() => this.#opened(error)));
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** From now on what comes is text. */
  setEncoding(): this {
    this.#text = true;
    return this;
  }

  setTimeout(ms: number, fired?: () => void): this {
    clearTimeout(this.#timeout);
    if (ms > 0) this.#timeout = setTimeout(() => fired?.(), ms);
    return this;
  }

  write(data: string | Buffer): boolean {
    if (!this.writable) return false;
    this.#loop.watch?.('write', this);
    const { trap } = this;
    const text = (typeof data === 'string' ? Buffer.from(data) : data).toString('latin1');
    this.#loop.written?.(this, text);
    this.toServer.send(text);
    this.#loop.watch?.('written', this);
    if (trap?.at === 'write') this.#spring(trap);
    return true;
  }

  end(): this {
    if (!this.writable) return this;
    this.writable = false;
    this.toServer.send(undefined);
    return this;
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.end();
    this.destroyed = true;
    this.connecting = false;
    this.toClient.lose();
    clearTimeout(this.#timeout);
    // In a turn of its own, as ioredis expects it.
    process.nextTick(() => {
      if (error !== undefined) this.emit('error', error);
      this.emit('close');
    });
    return this;
  }

  /** The server sends something. @param what - which kind, for a trap */
  deliver(text: string, what: Moment): void {
    if (what === 'message') this.#loop.watch?.('message', this);
    const { trap } = this;
    if (trap?.at === what) this.#spring(trap);
    this.toClient.send(text);
  }

  /** The connection breaks. */
  break({ clientIn, serverIn, lateBy }: Break): void {
    const loop = this.#loop;
    this.trap = undefined;
    // A client finds out by itself within 9 s that a connection is dead.
    const noticedIn = clientIn === Infinity ? DEAD_MS : clientIn;
    this.process?.disturb(loop.now + Math.max(noticedIn, serverIn, lateBy ?? 0) + RECOVERY_MS);
    loop.note(
      `the connection to ${this.server.name} breaks${lateBy === undefined ? '' : `, bytes come ${lateBy.toFixed()} ms late`}`,
    );
    this.toClient.lose();
    if (lateBy === undefined) this.toServer.lose();
    else this.toServer.hold(lateBy);
    const closed = (): void => this.server.closed(this);
    loop.after(serverIn, () => (lateBy === undefined ? closed() : this.toServer.send(undefined)));
    if (clientIn === Infinity) return;
    const reset = (): void => {
      this.#context.runInAsyncScope(() => this.destroy(errnoError('ECONNRESET', 'read')));
    };
    loop.after(clientIn, reset, { phase: Phase.Socket, process: this.process });
  }

  /** Nothing gets through for so many ms, and then everything. */
  hole(ms: number): void {
    this.process?.disturb(this.#loop.now + ms + RECOVERY_MS);
    this.toServer.hold(ms);
    this.toClient.hold(ms);
  }

  #spring({ how, sprung }: NonNullable<SimSocket['trap']>): void {
    sprung?.();
    this.break(how);
  }

  #opened(error: string | undefined): void {
    if (this.destroyed) return;
    if (error !== undefined) return void this.destroy(errnoError(error, 'connect'));
    this.connecting = false;
    this.emit('connect');
  }

  #arrived(text: string | undefined): void {
    if (this.destroyed) return;
    this.#context.runInAsyncScope(() => {
      if (text === undefined) {
        this.emit('end');
        this.destroy();
        return;
      }
      this.bytesRead += text.length;
      this.#loop.watch?.('read', this);
      this.emit('data', this.#text ? text : Buffer.from(text, 'latin1'));
    });
  }
}

function errnoError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}
