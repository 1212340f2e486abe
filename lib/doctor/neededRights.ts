import { channelOf, permitsKey } from '../inspection/describe';
import { prefixName, suffixName } from '../util/names';

/** What a kind of object needs of its user. */
export interface NeededRights {
  readonly commands: string;
  /** The keys of an object of that name. */
  readonly keys: (key: string) => readonly string[];
  readonly channels: (key: string) => readonly string[];
}

const nothing = (): readonly string[] => [];
const itself = (key: string): readonly string[] => [key];
const OWNER = '00000000-0000-4000-8000-000000000000:1';
const lockChannel = (key: string): readonly string[] => [channelOf.lock(key)];
const pubsub = 'publish subscribe unsubscribe';

/** What every client needs, and what some deployments need besides. As docs/security.md has it: a test compares. */
export const BASE_RIGHTS = {
  connection: 'info ping client|setname',
  replicas: 'wait',
  cluster: 'cluster|slots cluster|info',
  classic: 'pubsub|numsub',
  sharded: 'spublish ssubscribe sunsubscribe pubsub|shardnumsub',
} as const;

/** What each kind needs. As docs/security.md has it: a test compares. */
export const KIND_RIGHTS: Readonly<Record<string, NeededRights>> = {
  lock: {
    commands: `eval evalsha exists hget hincrby hset hexists hdel hlen del pexpire pttl ${pubsub}`,
    keys: itself,
    channels: lockChannel,
  },
  group: {
    commands: `eval evalsha hget hset hdel pexpire pttl ${pubsub}`,
    keys: itself,
    channels: lockChannel,
  },
  fair: {
    commands:
      'eval evalsha exists hget hincrby hset hexists hkeys hlen del pexpire pttl time lindex llen lpop lrange lrem rpush ' +
      `zadd zcard zrange zrem zscore ${pubsub}`,
    keys: (key) => [
      key,
      prefixName('redisson_lock_queue', key),
      prefixName('redisson_lock_timeout', key),
      channelOf.lock(key),
    ],
    channels: (key) => [channelOf.fairWaiter(key, OWNER)],
  },
  fenced: {
    commands: `eval evalsha hget hincrby hset hexists hdel hlen del pexpire pttl get incr ${pubsub}`,
    keys: (key) => [key, prefixName('redisson_lock_token', key)],
    channels: lockChannel,
  },
  spin: {
    commands: 'eval evalsha exists hget hincrby hset hexists hlen del pexpire pttl',
    keys: itself,
    channels: nothing,
  },
  nonReentrant: {
    commands: `eval evalsha hget hset hexists hdel hlen del pexpire pttl ${pubsub}`,
    keys: itself,
    channels: lockChannel,
  },
  readWrite: {
    commands: `eval evalsha exists get set hget hgetall hincrby hset hexists hdel hlen del pexpire pttl ${pubsub}`,
    keys: (key) => [key, `${suffixName(key, OWNER)}:rwlock_timeout:1`, channelOf.readWrite(key)],
    channels: (key) => [channelOf.readWrite(key)],
  },
  semaphore: {
    commands: `eval evalsha decrby del exists get incrby persist pexpire pttl set ${pubsub}`,
    keys: itself,
    channels: (key) => [channelOf.semaphore(key)],
  },
  permitExpirableSemaphore: {
    commands:
      'eval evalsha decrby del get incrby persist pexpire pttl set time ' +
      `zadd zcard zcount zrange zrem zremrangebyrank zremrangebyscore zscore ${pubsub}`,
    keys: (key) => [key, permitsKey(key), channelOf.semaphore(key)],
    channels: (key) => [channelOf.semaphore(key)],
  },
  countDownLatch: {
    commands: `eval evalsha decr del get set ${pubsub}`,
    keys: itself,
    channels: (key) => [channelOf.latch(key)],
  },
};

/** Arguments with which `ACL DRYRUN` takes a command; most take a key. */
export function sampleCall(command: string, key: string): readonly (string | number)[] {
  const [name, sub] = command.split('|') as [string, string | undefined];
  const call = [name, ...(sub === undefined ? [] : [sub])];
  switch (command) {
    case 'info':
    case 'ping':
    case 'time':
    case 'cluster|slots':
    case 'cluster|info':
      return call;
    case 'client|setname':
    case 'select':
    case 'publish':
    case 'spublish':
      return [...call, ...(name === 'client' || name === 'select' ? ['0'] : [key, '0'])];
    case 'wait':
      return [...call, 0, 0];
    case 'eval':
    case 'evalsha':
      return [...call, '0'.repeat(40), 1, key];
    case 'hget':
    case 'hexists':
    case 'hdel':
    case 'pexpire':
    case 'lindex':
    case 'rpush':
    case 'zrem':
    case 'zscore':
    case 'set':
    case 'incrby':
    case 'decrby':
      return [...call, key, 1];
    case 'hincrby':
    case 'hset':
    case 'lrange':
    case 'lrem':
    case 'zadd':
    case 'zcount':
    case 'zrange':
    case 'zremrangebyrank':
    case 'zremrangebyscore':
      return [...call, key, 1, 1];
    default:
      return [...call, key];
  }
}
