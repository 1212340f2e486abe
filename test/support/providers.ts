/** How a managed service differs from a server of one's own, as we understand it. */
export interface ProviderProfile {
  /** Its name in docs/managed.md. */
  readonly name: string;
  /** Pages that say more; their words were not compared with ours. */
  readonly sources: readonly string[];
  /**
   * Commands that it refuses (`config`, or with a subcommand, `client list`), and its words for it; `%s`: the command as
   * it was sent.
   */
  readonly refuses: Readonly<Record<string, string>>;
  /** Whether it is a cluster whose only node is its endpoint, whatever is behind it. */
  readonly isVirtualCluster: boolean;
  /** A connection without a word for so long is cut, in ms: seconds here for minutes there. */
  readonly idleMs?: number;
}

/** Redis' own words for a command that was renamed away, which most providers use. */
const UNKNOWN = "ERR unknown command '%s', with args beginning with: ";
/** Redis' words for a command that the user given to customers has no right to. */
const NO_RIGHT = "NOPERM this user has no permissions to run the '%s' command";

const REDIS_ERRORS = 'https://redis.io/docs/latest/develop/reference/errors/common/err-unknown-command/';

/**
 * The profiles. Most refusals have Redis' own words. Which commands a service refuses is a strict guess: a profile shows
 * that the locks do without them, and not that the service refuses them.
 */
export const PROVIDERS: readonly ProviderProfile[] = [
  {
    name: 'ElastiCache Serverless',
    sources: [
      'https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/SupportedCommands.html',
      // The words.
      'https://github.com/phpredis/phpredis/issues/609',
    ],
    refuses: { config: UNKNOWN, wait: UNKNOWN, 'client list': UNKNOWN, role: UNKNOWN, acl: UNKNOWN },
    isVirtualCluster: true,
  },
  {
    name: 'MemoryDB',
    sources: ['https://docs.aws.amazon.com/memorydb/latest/devguide/restrictedcommands.html', REDIS_ERRORS],
    refuses: { config: UNKNOWN, wait: UNKNOWN, acl: UNKNOWN },
    isVirtualCluster: true,
  },
  {
    name: 'Azure Managed Redis',
    sources: [
      'https://redis.io/docs/latest/operate/rs/references/compatibility/commands/server/',
      'https://learn.microsoft.com/en-us/azure/redis/best-practices-connection',
      REDIS_ERRORS,
    ],
    refuses: { config: UNKNOWN, acl: UNKNOWN, role: UNKNOWN },
    isVirtualCluster: true,
    // 10 minutes there.
    idleMs: 1_000,
  },
  {
    name: 'Memorystore',
    sources: ['https://cloud.google.com/memorystore/docs/redis/product-constraints', REDIS_ERRORS],
    refuses: { config: UNKNOWN, acl: UNKNOWN, replicaof: UNKNOWN },
    isVirtualCluster: false,
  },
  {
    name: 'Upstash',
    sources: [
      'https://upstash.com/docs/redis/overall/rediscompatibility',
      'https://github.com/upstash/redis-js/issues/422',
    ],
    refuses: {
      wait: "ERR Command is not available: '%s'",
      config: "ERR Command is not available: '%s'",
      'client list': "ERR Command is not available: '%s'",
      'pubsub numsub': "ERR Command is not available: '%s'",
    },
    isVirtualCluster: false,
    idleMs: 1_500,
  },
  {
    name: 'a proxy that gives few rights',
    sources: ['https://github.com/taskforcesh/bullmq/issues/2809', 'https://github.com/redisson/redisson/issues/6716'],
    refuses: { config: NO_RIGHT, wait: UNKNOWN, client: NO_RIGHT, info: NO_RIGHT, pubsub: NO_RIGHT },
    isVirtualCluster: false,
    idleMs: 1_000,
  },
];
