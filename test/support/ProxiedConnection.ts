import { once } from 'node:events';
import type * as net from 'node:net';
import { DelayLine } from './DelayLine';
import { RespFrames } from './respFrames';

/** Which way bytes go: `up` to the server, `down` to the client. */
export type Direction = 'up' | 'down';

/** What a {@link ProxiedConnection} asks its proxy about each chunk. */
export interface ProxyRules {
  drops(direction: Direction): boolean;
  delayMs(direction: Direction): number;
  /** The swallow this command is the victim of, if any. */
  claim(command: string): Swallow | undefined;
  count(direction: Direction, bytes: number): void;
}

/** One reply that is to be lost: see `TcpProxy.swallowNextReply`. */
export interface Swallow {
  readonly then: 'hang' | 'cut' | 'pass' | 'late';
  /** @param deliver - `late` only: lets the server have the command after all; resolves when it has answered */
  done(deliver?: () => Promise<void>): void;
}

/** A client's connection and ours to the server, with the faults of the proxy in between. */
export class ProxiedConnection {
  readonly #client: net.Socket;
  readonly #server: net.Socket;
  readonly #rules: ProxyRules;
  readonly #commands = new RespFrames();
  readonly #replies = new RespFrames();
  /** One entry per command the server has yet to answer. */
  readonly #unanswered: (Swallow | undefined)[] = [];
  readonly #queues = { up: new DelayLine(), down: new DelayLine() };
  #hung = false;
  /** Whether its client is gone, and what it had sent last is still on its way. */
  #late = false;

  constructor(client: net.Socket, server: net.Socket, rules: ProxyRules, onClose: () => void) {
    this.#client = client;
    this.#server = server;
    this.#rules = rules;
    client.on('data', (chunk: Buffer) => this.#fromClient(chunk));
    server.on('data', (chunk: Buffer) => this.#fromServer(chunk));
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
    }
    client.on('close', () => {
      if (!this.#late) this.destroy();
      onClose();
    });
    // What the server said last still has to reach the client; through a black hole not even its good-bye does.
    server.on('close', () => {
      if (!this.#hung && !rules.drops('down')) client.end();
    });
  }

  /** Passes on what is delayed now. */
  deliver(): void {
    this.#queues.up.flush();
    this.#queues.down.flush();
  }

  /** Ends both sides at once. */
  destroy(): void {
    this.#queues.up.clear();
    this.#queues.down.clear();
    this.#client.destroy();
    this.#server.destroy();
  }

  #fromClient(chunk: Buffer): void {
    this.#rules.count('up', chunk.length);
    if (this.#rules.drops('up')) return;
    for (const command of this.#commands.push(chunk)) {
      const swallow = this.#rules.claim(command.toString('latin1'));
      if (swallow?.then === 'late') return this.#hold(chunk, swallow);
      this.#unanswered.push(swallow);
    }
    this.#forward('up', this.#server, chunk);
  }

  /** Breaks the client's side, and keeps the server's with what the client has just sent. */
  #hold(chunk: Buffer, swallow: Swallow): void {
    this.#late = true;
    this.#client.destroy();
    swallow.done(async () => {
      this.#server.end(chunk);
      await once(this.#server, 'close');
    });
  }

  #fromServer(chunk: Buffer): void {
    this.#rules.count('down', chunk.length);
    if (this.#rules.drops('down')) return;
    for (const reply of this.#replies.push(chunk)) this.#reply(reply);
  }

  #reply(reply: Buffer): void {
    if (this.#hung) return;
    const swallow = isMessage(reply) ? undefined : this.#unanswered.shift();
    if (swallow === undefined) {
      this.#forward('down', this.#client, reply);
      return;
    }
    this.#hung = swallow.then === 'hang';
    if (swallow.then === 'cut') this.destroy();
    swallow.done();
  }

  #forward(direction: Direction, to: net.Socket, bytes: Buffer): void {
    this.#queues[direction].push(this.#rules.delayMs(direction), () => to.write(bytes));
  }
}

/** A published message answers no command. */
function isMessage(reply: Buffer): boolean {
  return /^[*>]\d+\r\n\$\d+\r\n[sp]?message\r\n/.test(reply.toString('latin1', 0, 40));
}
