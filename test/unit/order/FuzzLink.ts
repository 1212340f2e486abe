import { replyError } from '../../../lib/connection/link/driverError';
import type { CommandArgs, Link, LinkEvents } from '../../../lib/connection/link/Link';
import { unsent } from '../../../lib/connection/link/replyErrors';
import type { Subscriber, SubscriberEvents } from '../../../lib/connection/pubsub/Subscriber';
import { ShutdownError } from '../../../lib/errors';
import { fromBytes, toBytes } from '../../../lib/testing/bytes';
import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';
import { turn } from '../../../tools/realTimers';
import type { FuzzServer } from './FuzzServer';

/** How long the next command or reply is on its way, in ms. */
export type Delay = () => number;

/** Told of each command that the server has run, and of breaks. */
export interface Observer {
  ran(client: string, command: string, args: readonly string[], reply: Reply): void;
  note(text: string): void;
}

interface Sent {
  readonly command: string;
  readonly args: readonly string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
  arrived: boolean;
  lost: boolean;
}

/** A line: what is put into it comes out in this order, each after a delay of its own. */
class Line {
  #free: number;

  /** @param before - what is in it comes out first */
  constructor(
    readonly delay: Delay,
    before?: Line,
  ) {
    this.#free = before === undefined ? 0 : before.#free;
  }

  put(run: () => void): void {
    this.#free = Math.max(this.#free, performance.now() + this.delay());
    setTimeout(run, this.#free - performance.now());
  }
}

/** One connection: commands and replies are in order and late; a break loses what has not arrived, and all replies. */
interface Connection {
  readonly there: Line;
  readonly back: Line;
  readonly unanswered: Set<Sent>;
  /** What has arrived while the server hangs. */
  readonly arrived: Sent[];
  wakes: NodeJS.Timeout | undefined;
  /** The one in whose place it came. */
  readonly before: Connection | undefined;
  open: boolean;
  answeredAt: number;
}

/** The command connection of a client to a {@link FuzzServer}. */
export class FuzzLink implements Link {
  events: LinkEvents | undefined;
  readonly publishCommand = 'PUBLISH';
  readonly address = 'fuzz:1';
  readonly syncTimeout = 0;
  readonly refusal = undefined;
  lastError: Error | undefined;
  /** How many commands it has written. */
  sends = 0;
  readonly #client: string;
  readonly #server: FuzzServer;
  readonly #delay: Delay;
  readonly #timeout: number;
  readonly #observer: Observer;
  #connection: Connection;
  #closed = false;

  constructor(client: string, server: FuzzServer, delay: Delay, timeout: number, observer: Observer) {
    this.#client = client;
    this.#server = server;
    this.#delay = delay;
    this.#timeout = timeout;
    this.#observer = observer;
    this.#connection = this.#connect(undefined);
  }

  get ready(): boolean {
    return this.#connection.open;
  }

  canSend(): boolean {
    return this.ready;
  }

  send(command: string, args: CommandArgs): Promise<unknown> {
    if (!this.ready) return Promise.reject(unsent());
    this.sends++;
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      const sent: Sent = { command, args: args.map(toBytes), resolve, reject, arrived: false, lost: false };
      connection.unanswered.add(sent);
      connection.there.put(() => this.#arrived(connection, sent));
    });
  }

  unanswered(): void {
    if (this.ready && performance.now() - this.#connection.answeredAt >= 2 * this.#timeout) this.break(1, 5);
  }

  giveUp(): void {
    if (this.ready) this.break(1, 5);
  }

  laterTurn(): Promise<void> {
    return turn();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#connection.open = false;
    return Promise.resolve();
  }

  /**
   * The connection breaks.
   * @param arrive - the part of the commands on their way that arrive all the same: 0 to 1
   * @param afterMs - when there is another one
   */
  break(arrive: number, afterMs: number): void {
    if (this.#closed || !this.ready) return;
    const connection = this.#connection;
    connection.open = false;
    const open = [...connection.unanswered];
    connection.unanswered.clear();
    const onTheirWay = open.filter(({ arrived }) => !arrived);
    const cut = Math.round(onTheirWay.length * arrive);
    for (const sent of onTheirWay.slice(cut)) sent.lost = true;
    this.#observer.note(
      `${this.#client} connection breaks: ${open.length - onTheirWay.length} replies and ` +
        `${onTheirWay.length - cut} commands are lost, ${cut} commands arrive later`,
    );
    this.lastError = new Error('read ECONNRESET');
    this.events?.lost();
    for (const sent of open) sent.reject(new Error('Connection is closed.'));
    setTimeout(() => {
      if (this.#closed) return;
      // A command that runs later than what the next connection brings may take what its thread has acquired since
      // (docs/reliability.md).
      this.#connection = this.#connect(connection);
      this.#observer.note(`${this.#client} connected`);
      this.events?.ready();
    }, afterMs);
  }

  #connect(before: Connection | undefined): Connection {
    const there = new Line(this.#delay, before?.there);
    const back = new Line(this.#delay);
    return {
      there,
      back,
      unanswered: new Set(),
      arrived: [],
      wakes: undefined,
      before,
      open: true,
      answeredAt: performance.now(),
    };
  }

  #arrived(connection: Connection, sent: Sent): void {
    if (sent.lost) return;
    connection.arrived.push(sent);
    this.#serve(connection);
  }

  /** In order, whatever the server does. */
  #serve(connection: Connection): void {
    const frozenMs = this.#server.frozenUntil - performance.now();
    if (frozenMs > 0) {
      connection.wakes ??= setTimeout(() => {
        connection.wakes = undefined;
        this.#serve(connection);
      }, frozenMs);
      return;
    }
    if (connection.before !== undefined) this.#serve(connection.before);
    for (const sent of connection.arrived.splice(0)) this.#run(connection, sent);
  }

  #run(connection: Connection, sent: Sent): void {
    if (sent.lost) return;
    sent.arrived = true;
    const reply = this.#server.run(sent.command, sent.args);
    this.#observer.ran(this.#client, sent.command, sent.args, reply);
    connection.back.put(() => {
      if (!connection.unanswered.delete(sent)) return;
      connection.answeredAt = performance.now();
      if (reply instanceof RedisError) sent.reject(replyError(fromBytes(reply.message)));
      else sent.resolve(plain(reply));
    });
  }
}

/** The connection of a client for messages. */
export class FuzzSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  readonly #server: FuzzServer;
  readonly #line: Line;
  readonly #channels = new Set<string>();
  #waiting: (() => void)[] = [];
  #open = true;
  #closed = false;
  #number = 0;
  readonly #listener = (channel: string, message: string): void => {
    const number = this.#number;
    this.#line.put(() => {
      if (!this.#closed && number === this.#number) this.events?.message(channel, message);
    });
  };

  constructor(server: FuzzServer, delay: Delay) {
    this.#server = server;
    this.#line = new Line(delay);
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    this.#channels.add(channel);
    return new Promise((resolve) => {
      const done = (): void => {
        if (this.#closed || !this.#channels.has(channel)) return;
        this.#server.listen(channel, this.#listener);
        this.#line.put(resolve);
      };
      if (this.#open) this.#line.put(() => (this.#open ? done() : this.#waiting.push(done)));
      else this.#waiting.push(done);
    });
  }

  unsubscribe(channel: string): void {
    this.#channels.delete(channel);
    this.#server.ignore(channel, this.#listener);
  }

  probe(): void {}

  close(): void {
    this.#closed = true;
    for (const channel of this.#channels) this.#server.ignore(channel, this.#listener);
  }

  /** The connection breaks: messages are lost until there is another one. */
  break(afterMs: number): void {
    if (this.#closed || !this.#open) return;
    this.#open = false;
    this.#number++;
    for (const channel of this.#channels) this.#server.ignore(channel, this.#listener);
    this.events?.interrupted();
    setTimeout(() => {
      if (this.#closed) return;
      this.#open = true;
      for (const channel of this.#channels) this.#server.listen(channel, this.#listener);
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const done of waiting) done();
      this.events?.restored();
    }, afterMs);
  }
}

/** A reply as ioredis gives it. */
function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return fromBytes(reply);
  if (reply instanceof Status) return fromBytes(reply.text);
  if (reply instanceof RedisError) return replyError(fromBytes(reply.message));
  return typeof reply === 'object' && reply !== null ? reply.map(plain) : reply;
}
