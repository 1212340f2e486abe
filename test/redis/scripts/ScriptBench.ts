import { Redis } from 'ioredis';
import { PUBLISH_COMMAND, RESEND_FLAG, type Script, type ScriptArg } from '../../../lib/scripts/Script';
import { monotonicNow, redisUrl, trackClient, uniqueName } from '../../support';

/** What may be given to {@link ScriptBench.run}. */
export interface BenchOptions {
  readonly moreKeys?: readonly string[];
  readonly moreArgs?: readonly ScriptArg[];
  /** Runs it as a later send of the same call. */
  readonly resent?: boolean;
}

/** A key as it stands in Redis: lists in order, sets of pairs as objects; zset members are read as latin1. */
export type Content = string | string[] | Record<string, string>;

/** A thread id that only this package makes: an owner with it can be none of Java. */
const OURS = 2 ** 32;

/** The owner `A` of a test in Redis: a thread of ours, unless its name has a thread id of its own (`J:1`: of Java). */
export function ownerOf(name: string): string {
  return name.includes(':') ? name : `${name}:${OURS}`;
}

/** The reverse of {@link ownerOf}, wherever the owner stands. */
export function shortened<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(`:${OURS}`, '')) as T;
}

/** A name of its own on the shared server, on which scripts are run bare: no executor, no client of ours. */
export class ScriptBench {
  readonly name: string;
  readonly redis: Redis;
  /**
   * The time of the server for the scripts, epoch ms: a clock that stands still unless it is moved. @default its own
   */
  now: number | undefined;
  readonly #listener: Redis;
  readonly #openedAt = monotonicNow();
  readonly #messages: string[] = [];

  private constructor(name: string, redis: Redis, listener: Redis) {
    this.name = name;
    this.redis = redis;
    this.#listener = listener;
    listener.on('pmessage', (_pattern: string, channel: string, message: string) => {
      this.#messages.push(`${shortened(channel).replaceAll(name, 'x')} ${message}`);
    });
  }

  /** Opens a bench; it is cleaned up by {@link close}. */
  static async open(prefix = 'script', url = redisUrl()): Promise<ScriptBench> {
    const redis = trackClient(new Redis(url));
    const listener = trackClient(new Redis(url));
    return new ScriptBench(uniqueName(prefix), redis, listener);
  }

  /**
   * The bounds of what Redis may say is left of so many ms, which it rounds. They grow with the time that the test has
   * taken: a machine may stand still between two commands.
   */
  left(ms: number): [least: number, most: number] {
    return [ms - (monotonicNow() - this.#openedAt) - 1, ms + 1];
  }

  /** Records from now on what is sent on the channels that match, by default all of this name, and on no other. */
  async listen(pattern = `*${this.name}*`): Promise<void> {
    await this.#listener.punsubscribe();
    await this.#listener.psubscribe(pattern);
  }

  /** `channel message` of all messages since the last call; the name is written `x`. */
  async messages(): Promise<string[]> {
    // A publish reaches its subscribers before its sender gets the reply, and PING comes behind it.
    await this.#listener.ping();
    return this.#messages.splice(0);
  }

  async run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Readonly<Record<A, ScriptArg>>,
    options: BenchOptions = {},
  ): Promise<R> {
    const allKeys = [...script.realKeys.map((key) => keys[key]), ...(options.moreKeys ?? [])];
    const channels = script.channels.map((channel) => keys[channel]);
    const given: ScriptArg[] = [...script.args.map((arg) => args[arg]), ...channels, ...(options.moreArgs ?? [])];
    const allArgs = given.map((arg) => {
      if (arg === PUBLISH_COMMAND) return 'PUBLISH';
      if (arg === RESEND_FLAG) return options.resent ? '1' : '0';
      return arg;
    });
    return script.decode(await this.redis.eval(this.#timed(script.lua), allKeys.length, ...allKeys, ...allArgs));
  }

  #timed(lua: string): string {
    const { now } = this;
    if (now === undefined) return lua;
    return lua.replaceAll("redis.call('time')", `{'${Math.floor(now / 1000)}', '${(now % 1000) * 1000}'}`);
  }

  /** Every key of this name with what it holds; the name is written `x`. */
  async contents(): Promise<Record<string, Content>> {
    const contents: Record<string, Content> = {};
    for (const key of (await this.keys()).sort()) {
      contents[key.replaceAll(this.name, 'x')] = shortened(await this.#read(key));
    }
    return contents;
  }

  async keys(): Promise<string[]> {
    return this.redis.keys(`*${this.name}*`);
  }

  /** What DUMP says of every key of this name, and whether it expires. */
  async dump(): Promise<Record<string, string>> {
    const dumps: Record<string, string> = {};
    for (const key of (await this.keys()).sort()) {
      const dumped = await this.redis.dumpBuffer(key);
      dumps[key] = `${(dumped ?? Buffer.alloc(0)).toString('hex')} ${(await this.redis.pttl(key)) >= 0}`;
    }
    return dumps;
  }

  async close(): Promise<void> {
    await this.#listener.punsubscribe();
    const keys = await this.keys();
    if (keys.length > 0) await this.redis.del(...keys);
  }

  async #read(key: string): Promise<Content> {
    const type = await this.redis.type(key);
    if (type === 'hash') return this.redis.hgetall(key);
    if (type === 'list') return this.redis.lrange(key, 0, -1);
    if (type === 'string') return (await this.redis.get(key)) ?? '';
    const pairs = (await this.redis.callBuffer('zrange', key, 0, -1, 'WITHSCORES')) as Buffer[];
    const content: Record<string, string> = {};
    for (let i = 0; i < pairs.length; i += 2) content[pairs[i]!.toString('latin1')] = pairs[i + 1]!.toString();
    return content;
  }
}

/** A bench for every test of the suite that calls it, opened before and cleaned up after each. */
export function useBench(): () => ScriptBench {
  let bench: ScriptBench;
  beforeEach(async () => {
    bench = await ScriptBench.open();
    await bench.listen();
  });
  afterEach(() => bench.close());
  return () => bench;
}
