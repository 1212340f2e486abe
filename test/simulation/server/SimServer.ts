import { createHash } from 'node:crypto';
import { EPOCH, type Loop, Phase, type SimProcess } from '../engine/Loop';
import { encode, RequestParser } from '../net/resp';
import type { SimSocket } from '../net/SimSocket';
import type { SimTokens } from './SimTokens';
import { ServerScripts, writes } from './ServerScripts';
import { runCommand } from '../../../lib/testing/store/commands';
import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';
import { SimStore } from './SimStore';
import { compiledInPlace } from '../../../tools/luaCompiler';

/** What the server keeps of a connection. */
interface Session {
  readonly parser: RequestParser;
  readonly channels: Set<string>;
  /** How much the server had written when this connection wrote last. */
  written: number;
  /** What waits for its WAIT. */
  blocked: string[][] | undefined;
  /** Until when its login lasts, in ms of the world; `-Infinity`: it is not logged in. */
  loginEnds: number;
}

/** A replica: what it has, and how much of what the master wrote that is. */
interface Replica {
  store: SimStore;
  offset: number;
  /** When the last of what is under way to it arrives. */
  lastAt: number;
  stalledUntil: number;
}

/** What workload and oracle see of a server, or of several that serve as one. */
export interface Served {
  readonly name: string;
  readonly store: Pick<SimStore, 'entry' | 'value' | 'text' | 'hash' | 'sortedSet' | 'ttl' | 'dump'>;
  /** Open connections. */
  readonly connections: SimSocket[];
  /** Channels that somebody listens to. */
  readonly channels: string[];
  listens(socket: SimSocket, channel: string): boolean;
  /** Its wall clock. */
  readonly clock: number;
  readonly commands: number;
  /** Scripts that renew locks. */
  readonly renewals: number;
}

/** What makes a server a node of a cluster. */
export interface Membership {
  /** @returns the answer of a node of a cluster, `undefined` where it is that of any server */
  answer(socket: SimSocket, command: string, args: readonly string[]): string | undefined;
  /** A client or a script publishes. @returns how many hear it here */
  publish(channel: string, message: string, sharded: boolean): number;
  /** A connection is gone. */
  closed(socket: SimSocket): void;
}

/**
 * Clients that know of no replica ask once a second whether there is one; so long after it has come they know, in ms.
 */
const UNKNOWN_MS = 1_500;
/** A write takes so long to a replica, in ms. */
const REPLICATION_MS = 0.5;

const OK = new Status('OK');
const READ_ONLY = "READONLY You can't write against a read only replica.";
const MISCONF = 'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.';
const UNBLOCKED = 'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)';
/** In a trace: which argument of a script tells most. */
const SHORT = 60;

/** A script that is called. */
export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Whose connection it came by. */
  readonly process: SimProcess | undefined;
}

/** A Redis, as far as ioredis and the scripts see it: RESP2, scripts, pub/sub. */
export class SimServer implements Served {
  readonly name: string;
  /** Changes with a failover. */
  address: string;
  /** Of a node of a cluster. */
  port = 0;
  member: Membership | undefined;
  /** Which passwords let in. @default nobody is asked */
  tokens: SimTokens | undefined;
  store: SimStore;
  readonly engine: ServerScripts;
  /** Whether there is no memory left. */
  full = false;
  /** Whether it cannot write to its disk, and refuses all scripts for that; or what it answers to them. */
  refuses: boolean | string = false;
  readonly #loop: Loop;
  readonly #sessions = new Map<SimSocket, Session>();
  readonly #subscribers = new Map<string, Set<SimSocket>>();
  /** Clients do not learn of its replicas, and do not wait for them. */
  hidesReplicas = false;
  /** Told of each script before it runs. @returns what is told its reply */
  observe: ((call: ScriptCall) => ((reply: Reply) => void) | undefined) | undefined;
  /** Told when another one takes its place: what it had and may go on changing, and what its successor begins with. */
  replaced: ((former: SimStore, got: SimStore, lost: readonly string[]) => void) | undefined;
  /** Until when something is wrong with it, in ms of the world. */
  disturbedUntil = -Infinity;
  /** What it answers to `SENTINEL`, if it is one. */
  sentinel: ((args: readonly string[]) => Reply) | undefined;
  /** The master that it is a replica of, and those that are its own replicas and have connections of clients. */
  #master: SimServer | undefined;
  readonly #followers = new Set<SimServer>();
  /** Whose command is under way. */
  #caller: SimProcess | undefined;
  /** Whether the script under way has written. */
  #wrote = false;
  #pausedUntil = 0;
  #downUntil = 0;
  /** How scripts are called in the trace. */
  readonly #names: ReadonlyMap<string, string>;
  commands = 0;
  /** Scripts that renew locks. */
  renewals = 0;

  /** Counts what has been written. */
  #offset = 0;
  #replicas: Replica[] = [];
  /** From which of its writes on clients ask its replica for a confirmation. */
  #confirmedFrom = 0;
  /** Keys that were moved to it, and which of its writes that was. */
  readonly #moved = new Map<string, number>();
  /** Whether its replicas are there, and get nothing. */
  #mute = false;
  /** What comes when it listens again. */
  #waiting: (() => void)[] = [];
  /** What looks whether a WAIT is over. */
  readonly #confirming = new Set<() => void>();
  /** Counts failovers. */
  #failovers = 0;

  constructor(loop: Loop, name: string, scriptNames: ReadonlyMap<string, string> = new Map(), replicas = 0) {
    this.#loop = loop;
    this.name = this.address = name;
    this.#names = scriptNames;
    this.store = this.#newStore();
    this.#resetReplicas(replicas);
    this.engine = new ServerScripts({
      compiler: compiledInPlace,
      store: () => this.store,
      full: () => this.full,
      publish: (channel, message, sharded) => this.#publish(channel, message, sharded),
      wrote: () => {
        this.#wrote = true;
        this.#replicate();
      },
    });
  }

  /** Whether it reads what has arrived. */
  get listening(): boolean {
    return this.#loop.now >= this.#pausedUntil && this.up;
  }

  get up(): boolean {
    return this.#loop.now >= this.#downUntil;
  }

  /** Its wall clock. */
  get clock(): number {
    return Math.floor(EPOCH + this.#loop.now);
  }

  /** Something is wrong with it for so many ms. */
  disturb(ms: number): void {
    this.disturbedUntil = Math.max(this.disturbedUntil, this.#loop.now + ms);
  }

  /** Open connections, the oldest first. */
  get connections(): SimSocket[] {
    return [...this.#sessions.keys()];
  }

  get replicaCount(): number {
    return this.#replicas.length;
  }

  /** As other nodes of its cluster call it. */
  get endpoint(): string {
    return `${this.address}:${this.port}`;
  }

  /** As CLUSTER SLOTS calls it. */
  get announced(): Reply {
    return [this.address, this.port, this.name.padEnd(40, '0'), []];
  }

  /** How many listen to a channel. */
  subscribers(channel: string): number {
    return this.#subscribers.get(channel)?.size ?? 0;
  }

  listens(socket: SimSocket, channel: string): boolean {
    return this.#subscribers.get(channel)?.has(socket) ?? false;
  }

  /** Channels that somebody listens to. */
  get channels(): string[] {
    return [...this.#subscribers.keys()];
  }

  /** Somebody connects. */
  accept(socket: SimSocket, latency: number, opened: (error?: string) => void): void {
    const { process } = socket;
    this.#loop.after(
      2 * latency,
      () => {
        if (!this.up) return opened('ECONNREFUSED');
        if (socket.destroyed) return;
        this.#sessions.set(socket, {
          parser: new RequestParser(),
          channels: new Set(),
          written: 0,
          blocked: undefined,
          loginEnds: this.tokens === undefined ? Infinity : -Infinity,
        });
        opened();
      },
      { process, phase: Phase.Socket, kind: 'connect' },
    );
  }

  /** Bytes of a client; `undefined`: it has closed the connection. */
  receive(socket: SimSocket, text: string | undefined): void {
    const session = this.#sessions.get(socket);
    if (session === undefined) return;
    if (text === undefined) {
      this.closed(socket);
      socket.toClient.send(undefined);
      return;
    }
    const commands = session.parser.read(text);
    if (session.blocked === undefined) this.#execute(socket, session, commands);
    else session.blocked.push(...commands);
  }

  /** A connection is gone. */
  closed(socket: SimSocket): void {
    const session = this.#sessions.get(socket);
    if (session === undefined) return;
    this.#sessions.delete(socket);
    for (const channel of session.channels) this.#unsubscribe(socket, channel);
    this.member?.closed(socket);
  }

  /** Does something as soon as it is not paused. */
  whenListening(action: () => void): void {
    if (this.listening) action();
    else this.#waiting.push(action);
  }

  /** Its replicas hear nothing more of it. @returns what the one has that has most */
  surrender(): SimStore {
    // What is under way does not arrive any more.
    this.#replicas = this.#replicas.map((replica) => ({ ...replica }));
    this.#mute = true;
    const best = this.#best();
    this.replaced?.(this.store, best.store, this.#movedSince(best));
    return best.store.copy();
  }

  /** It is a master from now on, without a replica. */
  lead(store: SimStore): void {
    this.store = store;
    this.#moved.clear();
    this.#resetReplicas(0);
  }

  /** It is no master any more. As Redis does, it closes the connections whose WAIT is under way. */
  follow(): void {
    this.store = this.#newStore();
    this.#moved.clear();
    this.#resetReplicas(0);
    for (const [socket, { blocked }] of [...this.#sessions]) {
      if (blocked === undefined) continue;
      socket.deliver(encode(new RedisError(UNBLOCKED)), 'reply');
      this.closed(socket);
      socket.toClient.send(undefined);
    }
  }

  /** A replica comes, and has everything in so many ms. */
  attach(ms: number): void {
    const { now } = this.#loop;
    this.#resetReplicas(0);
    const replica = { store: this.#newStore(), offset: -1, lastAt: now + ms, stalledUntil: 0 };
    const replicas = (this.#replicas = [replica]);
    const [store, offset] = [this.store.copy(), this.#offset];
    this.#loop.after(ms, () => this.#arrive(replicas, replica, store, offset));
    this.#confirmedFrom = Infinity;
    this.#loop.after(UNKNOWN_MS, () => {
      if (replicas === this.#replicas) this.#confirmedFrom = this.#offset;
    });
  }

  /** Whether a replica has all that clients have no confirmation of since they did not know of it. */
  get followed(): boolean {
    return !this.#mute && this.#replicas.some(({ offset }) => offset >= this.#confirmedFrom);
  }

  /** Does nothing for so many ms; connections stay open. */
  pause(ms: number): void {
    this.#loop.note(`${this.name} pauses for ${ms.toFixed()} ms`);
    this.disturb(ms);
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#loop.now + ms);
    this.#loop.after(ms, () => this.#drain());
  }

  /** Dies, and is there again after so many ms. @param empty - without its data */
  restart(ms: number, empty: boolean): void {
    this.#loop.note(`${this.name} restarts${empty ? ' empty' : ''}, down for ${ms.toFixed()} ms`);
    this.disturb(ms);
    this.#downUntil = this.#loop.now + ms;
    if (empty) {
      this.store = this.#newStore();
      this.#resetReplicas(this.#replicas.length);
    }
    this.engine.forget();
    this.breakAll();
  }

  /** A replica gets nothing for so many ms. */
  stall(ms: number): void {
    const replica = this.#loop.random.of(this.#replicas);
    this.disturb(ms);
    this.#loop.note(`a replica of ${this.name} stalls for ${ms.toFixed()} ms`);
    replica.stalledUntil = Math.max(replica.stalledUntil, this.#loop.now + ms);
  }

  /** Dies, and the replica that has most of its data is the master in so many ms: what that has not got is lost. */
  failOver(ms: number): void {
    const best = this.#best();
    this.#loop.note(
      `${this.name} fails over in ${ms.toFixed()} ms, ${this.#offset - best.offset > 0 ? 'with a loss' : 'complete'}`,
    );
    this.disturb(ms);
    this.#downUntil = this.#loop.now + ms;
    this.#promote(best);
    this.breakAll();
  }

  /**
   * A replica takes its place, while it goes on as a master: with its connections, cut off from its replicas.
   * @returns what goes on
   */
  split(): SimServer {
    const best = this.#best();
    const old = this.former(this.address);
    this.#loop.note(`${this.name} is replaced, and goes on`);
    old.store = this.store;
    old.#offset = this.#offset;
    old.#replicas = this.#replicas;
    old.#mute = true;
    for (const [socket, session] of this.#sessions) {
      this.closed(socket);
      // Its WAIT is counted by the one that is replaced.
      if (session.blocked !== undefined) {
        socket.break({ clientIn: 0, serverIn: 0 });
        continue;
      }
      socket.server = old;
      old.#sessions.set(socket, session);
      for (const channel of session.channels) old.#subscribe(socket, channel);
    }
    this.#promote(best);
    return old;
  }

  /** The server that was at this address before it was replaced. */
  former(address: string): SimServer {
    const former = new SimServer(this.#loop, `${this.name}-old`, this.#names);
    former.address = address;
    former.tokens = this.tokens;
    return former;
  }

  /** It becomes a replica of another one, forgets what only it has, and serves what that one has. */
  replicate(master: SimServer): void {
    this.follow();
    this.#master = master;
    this.engine.forget();
    master.#followers.add(this);
  }

  #promote(best: Replica): void {
    this.replaced?.(this.store, best.store, this.#movedSince(best));
    this.store = best.store;
    this.#offset = best.offset;
    this.address = `${this.name}-${++this.#failovers}`;
    this.#resetReplicas(this.#replicas.length);
    this.engine.forget();
  }

  #best(): Replica {
    return this.#replicas.reduce((one, other) => (other.offset > one.offset ? other : one));
  }

  #resetReplicas(count: number): void {
    this.#mute = false;
    this.#replicas = Array.from({ length: count }, () => ({
      store: this.store.copy(),
      offset: this.#offset,
      lastAt: 0,
      stalledUntil: 0,
    }));
  }

  /** Something has been written: the replicas hear of it one after the other. */
  #replicate(): void {
    const replicas = this.#replicas;
    if (replicas.length === 0) return;
    const offset = ++this.#offset;
    if (this.#mute) return;
    const store = this.store.copy();
    for (const replica of replicas) {
      const { now, random } = this.#loop;
      replica.lastAt = Math.max(replica.lastAt, replica.stalledUntil, now + random.around(REPLICATION_MS));
      this.#loop.after(replica.lastAt - now, () => this.#arrive(replicas, replica, store, offset));
    }
  }

  #arrive(replicas: readonly Replica[], replica: Replica, store: SimStore, offset: number): void {
    // Two may arrive at the same time.
    if (replicas !== this.#replicas || replica.offset >= offset) return;
    replica.store = store;
    replica.offset = offset;
    for (const confirm of [...this.#confirming]) confirm();
  }

  /** Its replicas hear of a key that was moved. @param to - whether it was moved to this server */
  moved(key: string, to: boolean): void {
    this.#replicate();
    if (to) this.#moved.set(key, this.#offset);
  }

  /** The keys that were moved to it, and which a replica has not got: nobody waits for that. */
  #movedSince({ offset }: Replica): readonly string[] {
    return [...this.#moved].filter(([, movedAt]) => movedAt > offset).map(([key]) => key);
  }

  /** WAIT: nothing else of this connection is done until so many replicas have what it wrote, or the time is over. */
  #wait(socket: SimSocket, session: Session, wanted: number, ms: number): void {
    const loop = this.#loop;
    const until = loop.now + ms;
    const offset = session.written;
    const confirm = (): void => {
      if (!this.#confirming.has(confirm)) return;
      const count = this.#replicas.filter((replica) => replica.offset >= offset).length;
      if (this.#sessions.get(socket) !== session) return void this.#confirming.delete(confirm);
      if ((count < wanted && loop.now < until) || !this.listening) return;
      this.#confirming.delete(confirm);
      const waiting = session.blocked ?? [];
      session.blocked = undefined;
      this.#note('wait', [String(wanted), String(ms)], count);
      socket.deliver(encode(count), 'reply');
      this.#execute(socket, session, waiting);
    };
    this.#confirming.add(confirm);
    loop.after(0, confirm);
    loop.after(ms, confirm);
  }

  #execute(socket: SimSocket, session: Session, commands: string[][]): void {
    let replies = '';
    for (const [i, words] of commands.entries()) {
      this.commands++;
      if (words[0]!.toLowerCase() === 'wait' && this.#replicas.length > 0) {
        session.blocked = commands.slice(i + 1);
        this.#wait(socket, session, Number(words[1]), Number(words[2]));
        break;
      }
      const before = this.#offset;
      this.#loop.watch?.('run', socket);
      if (this.#sessions.get(socket) !== session) return;
      this.#caller = socket.process;
      replies += this.#answer(socket, session, words);
      this.#loop.watch?.('ran', socket);
      if (this.#offset > before) session.written = this.#offset;
    }
    if (replies !== '') socket.deliver(replies, 'reply');
  }

  /** Breaks all connections, as a process that ends does. */
  breakAll(): void {
    for (const socket of this.connections) {
      const clientIn = this.#loop.random.around(2);
      this.closed(socket);
      socket.break({ clientIn, serverIn: 0 });
    }
  }

  #drain(): void {
    if (!this.listening) return;
    for (const confirm of [...this.#confirming]) confirm();
    for (const socket of this.connections) socket.toServer.drain();
    for (const action of this.#waiting.splice(0)) action();
  }

  #newStore(): SimStore {
    return new SimStore(() => this.clock);
  }

  #answer(socket: SimSocket, session: Session, words: string[]): string {
    const [name = '', ...args] = words;
    const command = name.toLowerCase();
    const door = this.tokens && this.#door(this.tokens, socket, session, command, args);
    if (door !== undefined) return encode(door);
    const special = this.member?.answer(socket, command, args);
    if (special !== undefined) return special;
    if (command === 'subscribe' || command === 'unsubscribe') {
      return args.map((channel) => this.#listen(socket, session, command, channel)).join('');
    }
    const reply = this.#run(command, args, session);
    this.#note(command, args, reply);
    return encode(reply);
  }

  /** Who is not logged in gets no further. */
  #door(tokens: SimTokens, socket: SimSocket, session: Session, command: string, args: string[]): Reply | undefined {
    const isIn = session.loginEnds > -Infinity;
    if (command !== 'auth') return isIn ? undefined : new RedisError('NOAUTH Authentication required.');
    if (session.channels.size > 0) {
      return new RedisError("ERR Can't execute 'auth': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING are allowed");
    }
    const until = tokens.validUntil(args.at(-1) ?? '');
    if (until === undefined) {
      this.#loop.note(`${this.name} < ${socket.process?.id} AUTH refused`);
      return new RedisError('WRONGPASS invalid username-password pair or user is disabled.');
    }
    this.#loop.note(`${this.name} < ${socket.process?.id} AUTH`);
    session.loginEnds = until;
    if (isIn) tokens.renewed++;
    const end = (): void => {
      if (this.#sessions.get(socket) !== session || session.loginEnds > this.#loop.now) return;
      if (socket.process !== undefined) tokens.expired(socket.process.id, this.name);
      this.closed(socket);
      socket.toClient.send(undefined);
    };
    this.#loop.after(until - this.#loop.now, end);
    return OK;
  }

  #run(command: string, args: string[], session: Session): Reply {
    switch (command) {
      case 'evalsha':
      case 'eval':
        if (this.refuses) return new RedisError(typeof this.refuses === 'string' ? this.refuses : MISCONF);
        if (command === 'evalsha' && this.#names.get(args[0] ?? '')?.endsWith('.renew')) this.renewals++;
        return this.#evaluate(command, args);
      case 'script':
        if (args[0]?.toLowerCase() === 'load') return this.engine.load(args[1]!);
        this.engine.forget();
        return OK;
      case 'ping':
        if (session.channels.size > 0) return ['pong', ''];
        return new Status('PONG');
      case 'info':
        return this.#info();
      case 'client':
      case 'select':
        return OK;
      case 'publish':
        return this.#publish(args[0]!, args[1]!, false);
      case 'pubsub':
        return args.slice(1).flatMap((channel): Reply[] => [channel, this.subscribers(channel)]);
      case 'wait':
        return this.#master === undefined ? 0 : new RedisError('ERR WAIT cannot be used with replica instances.');
      case 'sentinel':
        return this.sentinel?.(args) ?? new RedisError("ERR unknown command 'sentinel'");
      default:
        if (this.#master !== undefined) {
          if (writes(command)) return new RedisError(READ_ONLY);
          this.store = this.#master.store;
        }
        try {
          const reply = runCommand(this.store, command, args);
          if (writes(command)) this.#replicate();
          return reply;
        } catch (error) {
          if (error instanceof RedisError) return error;
          throw error;
        }
    }
  }

  #info(): string {
    const role = this.#master === undefined ? 'master' : 'slave';
    const count = this.#master === undefined && !this.hidesReplicas ? this.#replicas.length : 0;
    return `redis_version:7.0.15\r\nloading:0\r\nrole:${role}\r\nconnected_slaves:${count}\r\n`;
  }

  #evaluate(command: 'eval' | 'evalsha', args: string[]): Reply {
    if (this.#master !== undefined) return this.#evaluateAsReplica(this.#master, command, args);
    const { observe } = this;
    const [text = '', count = '0', ...given] = args;
    const script = observe && this.#names.get(command === 'eval' ? this.engine.load(text) : text);
    if (script === undefined || observe === undefined) return this.engine.evaluate(command, args);
    const [keys, rest] = [given.slice(0, Number(count)), given.slice(Number(count))];
    const told = observe({ script, keys, args: rest, process: this.#caller });
    const reply = this.engine.evaluate(command, args);
    told?.(reply);
    return reply;
  }

  /** A script of ours writes before it publishes: one that writes has done nothing. */
  #evaluateAsReplica(master: SimServer, command: 'eval' | 'evalsha', args: string[]): Reply {
    this.store = master.store.copy();
    this.#wrote = false;
    const reply = this.engine.evaluate(command, args);
    return this.#wrote ? new RedisError(READ_ONLY) : reply;
  }

  #listen(socket: SimSocket, session: Session, command: 'subscribe' | 'unsubscribe', channel: string): string {
    if (command === 'subscribe') {
      session.channels.add(channel);
      this.#subscribe(socket, channel);
    } else {
      session.channels.delete(channel);
      this.#unsubscribe(socket, channel);
    }
    this.#loop.note(`${this.name} < ${socket.process?.id} ${command} ${channel}`);
    return encode([command, channel, session.channels.size]);
  }

  #subscribe(socket: SimSocket, channel: string): void {
    let sockets = this.#subscribers.get(channel);
    if (sockets === undefined) this.#subscribers.set(channel, (sockets = new Set()));
    sockets.add(socket);
  }

  #unsubscribe(socket: SimSocket, channel: string): void {
    const sockets = this.#subscribers.get(channel);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#subscribers.delete(channel);
  }

  #publish(channel: string, message: string, sharded: boolean): number {
    return this.member?.publish(channel, message, sharded) ?? this.hear(channel, message);
  }

  /** Those who listen to a channel here get a message. @returns how many */
  hear(channel: string, message: string): number {
    // A replica publishes what its master does.
    for (const follower of this.#followers) {
      this.#loop.after(this.#loop.random.around(REPLICATION_MS), () => follower.hear(channel, message));
    }
    const sockets = this.#subscribers.get(channel);
    if (sockets === undefined) return 0;
    const count = sockets.size;
    const text = encode(['message', channel, message]);
    for (const socket of [...sockets]) socket.deliver(text, 'message');
    return count;
  }

  #note(command: string, args: readonly string[], reply: Reply): void {
    if (['ping', 'client', 'info'].includes(command)) return;
    const [script = '', ...rest] = args;
    this.#loop.note(`${command} ${script.slice(0, 8)} ${rest[1] ?? ''}`, () =>
      this.#line(command, script, rest, reply),
    );
  }

  #line(command: string, script: string, rest: readonly string[], reply: Reply): string {
    // Not by loading it, which a refused EVAL does not: a trace changes nothing.
    const sha = command === 'eval' ? createHash('sha1').update(script).digest('hex') : script;
    const what = command.startsWith('eval') ? (this.#names.get(sha) ?? sha) : command;
    const shown = rest.slice(0, 12).map((arg) => (/[^\x20-\x7e]/.test(arg) ? '?' : arg.slice(0, SHORT)));
    const answer = reply instanceof RedisError ? reply.message.slice(0, SHORT) : JSON.stringify(reply);
    return `${this.name} < ${what} ${shown.join(' ')} > ${answer}`;
  }
}
