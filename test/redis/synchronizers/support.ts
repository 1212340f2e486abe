import { Redis } from 'ioredis';
import { PrefixNameMapper, Redisson, type RedissonOptions } from '../../../lib';
import { ALL_KINDS } from '../../../lib/kinds/allKinds';
import { memoryClient, memoryConnection, sleepUntil } from '../../contracts/world';
import { redisUrl, trackClient, uniqueName } from '../../support';

/** A client of the shared server, closed after the test. */
export function newClient(options: RedissonOptions = {}): Redisson {
  return memoryClient(options) ?? trackClient(Redisson.create({ url: redisUrl(), ...options }));
}

/** A bare connection, closed after the test. */
export function bareClient(url?: string): Redis {
  const inMemory = url === undefined ? memoryConnection() : undefined;
  if (inMemory !== undefined) return inMemory;
  const redis = new Redis(url ?? redisUrl(), { lazyConnect: false });
  redis.on('error', () => undefined);
  return trackClient(redis);
}

/** A name nobody else uses, and a bare connection to look at its keys. */
export interface OwnName {
  readonly redis: Redis;
  readonly name: string;
}

/** Opens the connection and makes the name; after the test its keys are deleted, those of leased permits too. */
export function openName(prefix: string): OwnName {
  const redis = bareClient();
  const name = uniqueName(prefix);
  // Tracked last, so closed before the connection it needs, and after whatever client the test opens.
  trackClient({ close: () => redis.del(name, `{${name}}:timeout`) });
  return { redis, name };
}

/** Two names that have one channel, and a bare connection to look at their keys. */
export interface TwoNames {
  readonly redis: Redis;
  /** `x`. */
  readonly bare: string;
  /** `{x}`. */
  readonly braced: string;
}

/** Opens the connection and makes the names; after the test the keys of locks and synchronizers are deleted. */
export function openTwoNames(): TwoNames {
  const redis = bareClient();
  const bare = uniqueName('names');
  const braced = `{${bare}}`;
  const keys = [bare, braced].flatMap((name) => ALL_KINDS.flatMap((kind) => Object.values(kind.keysOf(name, ''))));
  trackClient({ close: () => redis.del(...keys) });
  return { redis, bare, braced };
}

/** What most tests of synchronizers work with. */
export interface Stage extends OwnName {
  readonly client: Redisson;
}

/** {@link openName}, and a client. */
export function openStage(prefix: string): Stage {
  return { client: newClient(), ...openName(prefix) };
}

/** A name that has to be harmless, a client that uses it, and the key it is mapped to. */
export interface OddName {
  readonly client: Redisson;
  readonly raw: string;
  readonly key: string;
}

/** Names with braces, colons, spaces and unicode that contain `name`: as they are, and under a name mapper. */
export function oddNames(client: Redisson, name: string): OddName[] {
  const mapped = newClient({ nameMapper: new PrefixNameMapper('app:') });
  return [`{${name}}`, `a{b}c:${name}`, `x{y ${name}`, `клю ч:${name}`, `}${name}`].flatMap((raw) => [
    { client, raw, key: raw },
    { client: mapped, raw, key: `app:${raw}` },
  ]);
}

/** How many clients listen to a channel. */
export async function listeners(redis: Redis, channel: string): Promise<number> {
  const [, count] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
  return count;
}

/** Resolves when so many clients listen to a channel: 0 = nobody any more. */
export async function untilListening(redis: Redis, channel: string, count = 1): Promise<void> {
  await sleepUntil(async () => (await listeners(redis, channel)) === count, {
    message: `${count} subscriber(s) of ${channel}`,
  });
}

/** What a promise rejects with; fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    (value) => {
      throw new Error(`resolved to ${String(value)}`);
    },
    (error: Error) => error,
  );
}

/** Counts who is inside and remembers the most at once, with a pause between reading and writing. */
export class Inside {
  /** Sections run so far. */
  runs = 0;
  /** Most at once. */
  most = 0;
  #now = 0;

  async run(ms = 1): Promise<void> {
    const { runs } = this;
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#now -= 1;
    // Not atomic on purpose: two inside at once lose a count.
    this.runs = runs + 1;
  }
}
