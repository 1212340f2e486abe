import { once } from 'node:events';
import * as net from 'node:net';
import { type Direction, ProxiedConnection, type ProxyRules, type Swallow } from './ProxiedConnection';

/** What {@link TcpProxy.swallowNextReply} waits for and does. */
export interface SwallowOptions {
  /**
   * Only a command whose text contains this (or matches it); names are compared in upper case. Default: any command.
   */
  readonly command?: string | RegExp;
  /**
   * After the reply is lost: `hang` (default): the connection stays open and silent; `cut`: it breaks;
   * `pass`: it goes on, so that every later reply answers an earlier question, which no real network does.
   */
  readonly then?: Exclude<Swallow['then'], 'late'>;
  /** So many commands that match are answered before. @default 0 */
  readonly after?: number;
}

/** What went through a {@link TcpProxy} so far. */
export interface ProxyStats {
  /** Connections accepted since the start. */
  readonly accepted: number;
  /** Connections open now. */
  readonly open: number;
  /** Bytes that clients sent, dropped ones too. */
  readonly bytesUp: number;
  /** Bytes that the server sent, dropped ones too. */
  readonly bytesDown: number;
}

/**
 * A TCP proxy before a Redis server that fails on demand.
 *
 * ```
 * client ──► proxy.url ──► [refuse | cut | blackhole | delay | swallow] ──► server
 * ```
 *
 * Plain TCP and plain RESP only (no TLS). Faults hold until {@link pass} takes them back. Bytes that were dropped are
 * gone, so `cut()` before `pass()`.
 */
export class TcpProxy {
  readonly host = '127.0.0.1';
  readonly #target: URL;
  readonly #connections = new Set<ProxiedConnection>();
  readonly #dropping = new Set<Direction>();
  readonly #delay = { up: 0, down: 0 };
  readonly #bytes = { up: 0, down: 0 };
  #swallows: { readonly match: (command: string) => boolean; readonly swallow: Swallow }[] = [];
  #listener: net.Server | undefined;
  #port = 0;
  #accepted = 0;

  private constructor(target: URL) {
    this.#target = target;
  }

  /** Starts one on a free port before the server of this Redis URL. */
  static async start(targetUrl: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(targetUrl));
    await proxy.accept();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** The target's URL with our host and port instead. */
  get url(): string {
    const url = new URL(this.#target.href);
    url.hostname = this.host;
    url.port = String(this.#port);
    return url.href;
  }

  get stats(): ProxyStats {
    return {
      accepted: this.#accepted,
      open: this.#connections.size,
      bytesUp: this.#bytes.up,
      bytesDown: this.#bytes.down,
    };
  }

  /** No faults any more; connections that `refuse` turned away may come again. */
  async pass(): Promise<void> {
    this.#dropping.clear();
    this.#delay.up = this.#delay.down = 0;
    this.#swallows = [];
    await this.accept();
  }

  /** Breaks every open connection; new ones are served. Returns how many there were. */
  cut(): number {
    const open = [...this.#connections];
    for (const connection of open) connection.destroy();
    return open.length;
  }

  /** From now on accepts bytes and drops them, on old and new connections: both ways, or one. */
  blackhole(direction: Direction | 'both' = 'both'): void {
    for (const one of both(direction)) this.#dropping.add(one);
  }

  /** From now on each chunk arrives `ms` later, in order. */
  delay(ms: number, direction: Direction | 'both' = 'both'): void {
    for (const one of both(direction)) this.#delay[one] = ms;
  }

  /** No delay any more, for what is on its way neither. */
  deliver(): void {
    this.delay(0);
    for (const connection of this.#connections) connection.deliver();
  }

  /** Stops listening: whoever connects gets ECONNREFUSED. Open connections stay; `cut()` ends them. */
  refuse(): void {
    // Stops listening at once; its "close" event would wait for the connections, which may stay.
    this.#listener?.close();
    this.#listener = undefined;
  }

  /** Listens again, on the same port. */
  async accept(): Promise<void> {
    if (this.#listener !== undefined) return;
    const listener = net.createServer((client) => this.#connect(client));
    this.#listener = listener;
    listener.listen(this.#port, this.host);
    await once(listener, 'listening');
    this.#port = (listener.address() as net.AddressInfo).port;
  }

  /**
   * Lets the next command (that matches) through to the server and loses exactly its reply.
   * Resolves when the reply is lost, so the server has then executed the command.
   */
  swallowNextReply(options: SwallowOptions = {}): Promise<void> {
    const { command, then = 'hang' } = options;
    let { after = 0 } = options;
    const matches = matcher(command);
    return new Promise((resolve) => {
      this.#swallows.push({
        match: (text) => matches(text) && after-- <= 0,
        swallow: { then, done: () => resolve() },
      });
    });
  }

  /**
   * Breaks the connection on which the next such command is sent, and holds the command, as a network may.
   * @returns a function that lets the server have it after all, and resolves when the server has run it
   */
  holdNextCommand(command: string): Promise<() => Promise<void>> {
    return new Promise((resolve) => {
      this.#swallows.push({ match: matcher(command), swallow: { then: 'late', done: (deliver) => resolve(deliver!) } });
    });
  }

  /** Ends everything. Idempotent. */
  close(): void {
    this.refuse();
    this.cut();
  }

  #connect(client: net.Socket): void {
    this.#accepted += 1;
    const server = net.connect(Number(this.#target.port || 6379), this.#target.hostname);
    const connection = new ProxiedConnection(client, server, this.#rules, () => this.#connections.delete(connection));
    this.#connections.add(connection);
  }

  readonly #rules: ProxyRules = {
    drops: (direction) => this.#dropping.has(direction),
    delayMs: (direction) => this.#delay[direction],
    count: (direction, bytes) => {
      this.#bytes[direction] += bytes;
    },
    claim: (command) => {
      const index = this.#swallows.findIndex(({ match }) => match(command));
      return index === -1 ? undefined : this.#swallows.splice(index, 1)[0]?.swallow;
    },
  };
}

function both(direction: Direction | 'both'): Direction[] {
  return direction === 'both' ? ['up', 'down'] : [direction];
}

function matcher(command: string | RegExp | undefined): (text: string) => boolean {
  if (command === undefined) return () => true;
  if (command instanceof RegExp) return (text) => command.test(text);
  const wanted = command.toUpperCase();
  return (text) => text.toUpperCase().includes(wanted);
}
