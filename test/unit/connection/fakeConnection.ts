import { EventEmitter } from 'node:events';
import pDefer, { type DeferredPromise } from 'p-defer';
import type { Redis } from 'ioredis';

/** One command a {@link FakeConnection} was given. */
export interface Commanded extends DeferredPromise<unknown> {
  /** The command and its arguments. */
  readonly text: string;
}

/** As much of an ioredis connection as a subscriber uses; the test opens, breaks and answers. */
export class FakeConnection extends EventEmitter {
  status = 'connecting';
  readonly options = {};
  readonly stream = Object.assign(new EventEmitter(), {
    remoteAddress: '10.0.0.1',
    remotePort: 6379,
    writable: true,
    bytesRead: 0,
  });
  /** Every command that was sent, in order. */
  readonly sent: Commanded[] = [];
  /** How often it was told to connect anew. */
  reconnects = 0;

  /** For the subscriber. */
  get redis(): Redis {
    return this as unknown as Redis;
  }

  /** What was sent, in order. */
  get texts(): string[] {
    return this.sent.map(({ text }) => text);
  }

  /** Connects. */
  open(): void {
    this.status = 'connect';
    this.emit('connect');
    this.status = 'ready';
    this.emit('ready');
  }

  /** Breaks: what is under way is rejected, as ioredis does. */
  break(): void {
    this.status = 'close';
    this.emit('close');
    for (const { reject } of this.sent) reject(new Error('Connection is closed.'));
  }

  /** Answers everything that was sent so far. */
  answer(): void {
    for (const { resolve } of this.sent) resolve(1);
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.#send('subscribe', channels);
  }

  unsubscribe(...channels: string[]): Promise<unknown> {
    return this.#send('unsubscribe', channels);
  }

  ssubscribe(...channels: string[]): Promise<unknown> {
    return this.#send('ssubscribe', channels);
  }

  sunsubscribe(...channels: string[]): Promise<unknown> {
    return this.#send('sunsubscribe', channels);
  }

  ping(): Promise<unknown> {
    return this.#send('ping', []);
  }

  disconnect(reconnect = false): void {
    if (reconnect) this.reconnects += 1;
    else this.status = 'end';
  }

  #send(command: string, args: string[]): Promise<unknown> {
    const sent = { text: [command, ...args].join(' '), ...pDefer<unknown>() };
    this.sent.push(sent);
    return sent.promise;
  }
}
