import { createHash } from 'node:crypto';
import { type Reply, Status } from '../../../lib/testing/store/replies';
import type { SimStore } from '../server/SimStore';
import { EPOCH, type Loop } from '../engine/Loop';
import { ReplyParser } from '../java/ReplyParser';
import { RequestParser } from '../net/resp';
import type { SimSocket } from '../net/SimSocket';
import type { ScriptCall } from '../server/SimServer';

/** A command of a lock, as the specification knows it. */
export interface LockCommand {
  readonly kind: 'acquire' | 'release' | 'move' | 'renew';
  /** The key. */
  readonly lock: string;
  readonly owner: string;
  /** Of a move: who gets it. */
  readonly heir?: string;
  /** The holds that it leaves. */
  readonly count: number;
  /** In ms; of a release: of the holds that it leaves, 0: as it was. */
  readonly lease: number;
}

/** Something that happened in a world; `at` in ms of it. `link` is a connection, `process` who made it. */
export type LockEvent =
  | ({ at: number; event: 'send'; link: number; process: string; id: number } & LockCommand)
  | { at: number; event: 'run'; id: number; result: 'yes' | 'no' | 'gone' | 'kept'; n: number }
  | { at: number; event: 'read'; id: number }
  | { at: number; event: 'close'; link: number; process: string }
  /** The successor of a server that has died begins with that. */
  | { at: number; event: 'failover'; owner: string | undefined; holds: number; ttl: number }
  /** `quit`: a call has ended without the lock. */
  | { at: number; event: 'enter' | 'leave' | 'quit'; owner: string; lock: string };

interface Sent {
  events: Extract<LockEvent, { event: 'send' }>[];
  ran: boolean;
}

interface Connection {
  readonly number: number;
  readonly parser: RequestParser;
  /** What the server has not run yet. */
  readonly queue: Sent[];
  current: Sent | undefined;
  /** What has no reply yet. */
  readonly unanswered: Sent[];
  readonly replies: ReplyParser;
  /** What comes are messages. */
  listens: boolean;
}

/**
 * Notes what clients send, what servers run, and who believes to be inside of a lock: for TLC, which checks that this
 * is a behaviour of the specification (docs/spec). Only the scripts of the plain lock are noted. It changes nothing.
 */
export class Events {
  readonly #loop: Loop;
  readonly #names: ReadonlyMap<string, string>;
  readonly #connections = new Map<SimSocket, Connection>();
  readonly #events: LockEvent[] = [];
  readonly #void = new Set<LockEvent>();
  #ids = 0;
  #running: Connection | undefined;

  /** @param names - what scripts are called, by their SHA-1 */
  constructor(loop: Loop, names: ReadonlyMap<string, string>) {
    this.#loop = loop;
    this.#names = names;
    loop.watch = (step, at) => {
      const socket = at as SimSocket;
      if (step === 'run') this.#runs(socket);
      else if (step === 'ran') this.#ran();
    };
    loop.written = (at, text) => this.#written(at as SimSocket, text);
  }

  /** What has happened so far, in order. */
  get events(): readonly LockEvent[] {
    return this.#events.filter((event) => !this.#void.has(event));
  }

  /** Somebody who believes to have a lock begins to work. @returns what says that it ends, or has learnt of its loss */
  enters(owner: string, lock: string): () => void {
    let inside = true;
    this.#events.push({ at: this.#now, event: 'enter', owner, lock });
    return () => {
      if (inside) this.#events.push({ at: this.#now, event: 'leave', owner, lock });
      inside = false;
    };
  }

  /** A call has ended without the lock. */
  quits(owner: string, lock: string): void {
    this.#events.push({ at: this.#now, event: 'quit', owner, lock });
  }

  /** Another server takes the place of one that has died. @param got - what it begins with */
  failsOver(got: SimStore, lock: string): void {
    const [hold] = got.hash(lock) ?? [];
    const ttl = hold === undefined ? 0 : got.ttl(lock);
    this.#events.push({ at: this.#now, event: 'failover', owner: hold?.[0], holds: Number(hold?.[1] ?? 0), ttl });
  }

  /** A server is about to run a script. @returns what is told the reply */
  observe(call: ScriptCall): ((reply: Reply) => void) | undefined {
    const sent = this.#running?.current;
    if (sent === undefined || sent.events.length === 0) return undefined;
    return (reply) => {
      sent.ran = true;
      sent.events.forEach((event, i) => {
        const { id, kind } = event;
        this.#events.push({ at: this.#now, event: 'run', id, ...resultOf(kind, call, reply, i) });
      });
    };
  }

  get #now(): number {
    // As the clock of the servers has it, which rounds.
    return Math.floor(EPOCH + this.#loop.now) - EPOCH;
  }

  #written(socket: SimSocket, text: string): void {
    const connection = this.#connectionOf(socket);
    for (const words of connection.parser.read(text)) {
      const commands = this.#read(words);
      const [at, link, process] = [this.#now, connection.number, socket.process!.id];
      const events = commands.map((one) => ({ at, event: 'send' as const, link, process, id: this.#ids++, ...one }));
      this.#events.push(...events);
      const sent = { events, ran: false };
      connection.queue.push(sent);
      connection.unanswered.push(sent);
      if (/^subscribe$/i.test(words[0]!)) connection.listens = true;
    }
  }

  #connectionOf(socket: SimSocket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = {
      number: this.#connections.size,
      parser: new RequestParser(),
      queue: [],
      current: undefined,
      unanswered: [],
      replies: new ReplyParser(),
      listens: false,
    };
    this.#connections.set(socket, connection);
    // Before ioredis reads it.
    socket.prependListener('data', (data: Buffer | string) => this.#reads(connection, data));
    socket.once('close', () => {
      this.#events.push({ at: this.#now, event: 'close', link: connection.number, process: socket.process!.id });
    });
    return connection;
  }

  #reads(connection: Connection, data: Buffer | string): void {
    if (connection.listens) return;
    const text = typeof data === 'string' ? data : data.toString('latin1');
    for (let i = connection.replies.read(text).length; i > 0; i--) {
      for (const { id } of connection.unanswered.shift()?.events ?? []) {
        this.#events.push({ at: this.#now, event: 'read', id });
      }
    }
  }

  #runs(socket: SimSocket): void {
    this.#running = this.#connectionOf(socket);
    this.#running.current = this.#running.queue.shift();
  }

  /** A script that the server did not know is sent again with its text; one that it refused has changed nothing. */
  #ran(): void {
    const sent = this.#running?.current;
    if (sent?.ran !== false) return;
    for (const event of sent.events) this.#void.add(event);
    sent.events = [];
  }

  #read(words: readonly string[]): LockCommand[] {
    const [command = '', text = '', count = '0', ...given] = words;
    if (!/^eval(sha)?$/i.test(command)) return [];
    const sha = command.length > 4 ? text : createHash('sha1').update(text, 'latin1').digest('hex');
    const keys = given.slice(0, Number(count));
    return commandsOf(this.#names.get(sha), keys, given.slice(Number(count)));
  }
}

function commandsOf(script: string | undefined, keys: readonly string[], args: readonly string[]): LockCommand[] {
  const [lock = ''] = keys;
  const [first = '', second = '', third = '', fourth = ''] = args;
  switch (script) {
    case 'lock.acquire':
      return [{ kind: 'acquire', lock, owner: second, count: Number(third), lease: Number(first) }];
    case 'lock.release':
      return [{ kind: 'release', lock, owner: second, count: Number(third), lease: Number(fourth) }];
    case 'lock.handOver':
      return [{ kind: 'move', lock, owner: first, heir: second, count: 0, lease: Number(third) }];
    case 'lock.renew':
      return keys.map((key, i) => ({ kind: 'renew', lock: key, owner: args[i + 1]!, count: 0, lease: Number(first) }));
    case undefined:
    default:
      return [];
  }
}

function resultOf(
  kind: LockCommand['kind'],
  { args }: ScriptCall,
  reply: Reply,
  i: number,
): { result: 'yes' | 'no' | 'gone' | 'kept'; n: number } {
  if (reply instanceof Error || reply instanceof Status) return { result: 'gone', n: 0 };
  switch (kind) {
    case 'acquire':
      if (reply === null) return { result: 'yes', n: Number(args[2]) };
      return Array.isArray(reply) ? { result: 'yes', n: Number(reply[0]) } : { result: 'no', n: Number(reply) };
    case 'release':
      return { result: reply === null ? 'gone' : reply === 0 ? 'kept' : 'yes', n: 0 };
    case 'move':
      return { result: reply === null ? 'gone' : 'yes', n: 1 };
    case 'renew':
    default:
      return { result: (reply as Reply[])[i] === 1 ? 'yes' : 'gone', n: 0 };
  }
}
