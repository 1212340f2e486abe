/**
 * On what a refusal stands.
 *
 * - `quoted`: somebody got these words for this command from this service;
 * - `listed`: the service's documentation says that it refuses the command; the words are those that `words` quotes for
 *   another command of the service, or Redis' own;
 * - `guess`: ours. It is stricter than what we know: the locks do without the command, and that is all it shows.
 */
export type Evidence =
  | { readonly kind: 'quoted'; readonly source: string }
  | { readonly kind: 'listed'; readonly source: string; readonly words?: string }
  | { readonly kind: 'guess'; readonly words?: string };

/** A command that a service refuses. */
export interface Refusal {
  /** What it answers; `%s`: the command as it was sent, `%S`: in capitals, `%a`: its first argument. */
  readonly says: string;
  readonly evidence: Evidence;
}

/** How a managed service differs from a server of one's own. */
export interface ProviderProfile {
  /** Its name in docs/managed.md. */
  readonly name: string;
  /** For the matrix. */
  readonly id: string;
  /** The commands that it refuses (`config`, or with a subcommand, `client list`). */
  readonly refuses: Readonly<Record<string, Refusal>>;
  /** Whether it is a cluster whose only node is its endpoint, whatever is behind it; and where that is known from. */
  readonly virtualCluster?: Evidence;
  /** A connection without a word for so long is cut, in ms: seconds here for minutes there. */
  readonly idle?: {
    readonly ms: number;
    readonly evidence: Evidence;
    /** Whether it says nothing of it: the connection looks open, and nobody is there any more. */
    readonly silently?: true;
  };
  /** How many channels one connection may listen to, and what it says to the next. */
  readonly channels?: { readonly most: number; readonly says: string; readonly evidence: Evidence };
  /** Whether its SCAN has cursors above 2^63. */
  readonly hugeCursors?: Evidence;
}

const GUESS: Evidence = { kind: 'guess' };

const quoted = (says: string, source: string): Refusal => ({ says, evidence: { kind: 'quoted', source } });
const listed = (says: string, source: string, words?: string): Refusal => ({
  says,
  evidence: { kind: 'listed', source, ...(words !== undefined && { words }) },
});
/** @param words - where its words are quoted for another command */
const guessed = (says: string, words?: string): Refusal => ({
  says,
  evidence: { ...GUESS, ...(words !== undefined && { words }) },
});

/** Redis' own words for a command that was renamed away, which most providers use. Before Redis 7 with other quotes. */
const UNKNOWN = "ERR unknown command '%s', with args beginning with: '%a' ";
const UNKNOWN_SHORT = "ERR unknown command '%s'";
const UNKNOWN_5 = 'ERR unknown command `%s`, with args beginning with: `%a`, ';

const AWS = 'https://docs.aws.amazon.com';
const ELASTICACHE_LIST = `${AWS}/AmazonElastiCache/latest/dg/ClientConfig.RestrictedCommands.html`;
const SERVERLESS_WAIT = 'https://github.com/redisson/redisson/issues/5586';
const MEMORYDB_LIST = `${AWS}/memorydb/latest/devguide/restrictedcommands.html`;
const REDIS_SOFTWARE_LIST = 'https://redis.io/docs/latest/operate/rs/references/compatibility/commands/server/';
const MEMORYSTORE_LIST = 'https://cloud.google.com/memorystore/docs/redis/product-constraints';
const MEMORYSTORE_CLIENT = 'https://github.com/taskforcesh/bullmq/pull/334';
const UPSTASH_WORDS = 'https://github.com/sidekiq/sidekiq/issues/5641';
const UPSTASH =
  "ERR Command is not available: '%S'. See https://docs.upstash.com/overall/rediscompatibility for details";
const UPSTASH_LIST = 'https://upstash.com/docs/redis/overall/rediscompatibility';
const OCI_LIST = 'https://docs.oracle.com/iaas/Content/ocicache/restrictedcommands.htm';
const TENCENT_LIST = 'https://www.tencentcloud.com/document/product/239/50393';

/**
 * The profiles. Each row says whether it stands on a source. The pages were read in November 2026, in stored copies.
 */
export const PROVIDERS: readonly ProviderProfile[] = [
  {
    name: 'ElastiCache Serverless',
    id: 'elasticache-serverless',
    refuses: {
      wait: quoted(UNKNOWN_SHORT, SERVERLESS_WAIT),
      config: listed(UNKNOWN_SHORT, ELASTICACHE_LIST, SERVERLESS_WAIT),
      replicaof: listed(UNKNOWN_SHORT, ELASTICACHE_LIST, SERVERLESS_WAIT),
      'client list': guessed(UNKNOWN_SHORT),
      role: guessed(UNKNOWN_SHORT),
    },
    virtualCluster: { kind: 'listed', source: `${AWS}/AmazonElastiCache/latest/dg/WorkingWithRedis.html` },
    hugeCursors: { kind: 'quoted', source: 'https://github.com/redis/node-redis/issues/2765' },
  },
  {
    name: 'ElastiCache, nodes of your own',
    id: 'elasticache-nodes',
    refuses: {
      config: quoted(UNKNOWN_SHORT, 'https://github.com/phpredis/phpredis/issues/609'),
      replicaof: listed(UNKNOWN_SHORT, ELASTICACHE_LIST),
    },
  },
  {
    name: 'MemoryDB',
    id: 'memorydb',
    refuses: {
      config: listed(UNKNOWN, MEMORYDB_LIST),
      'acl setuser': listed(UNKNOWN, MEMORYDB_LIST),
      replicaof: listed(UNKNOWN, MEMORYDB_LIST),
      // Not on the list: there is nothing that a replica could add to the log of several zones.
      wait: guessed(UNKNOWN),
    },
    virtualCluster: GUESS,
  },
  {
    name: 'Azure Managed Redis',
    id: 'azure-managed-redis',
    refuses: {
      'acl setuser': listed(UNKNOWN, REDIS_SOFTWARE_LIST),
      config: guessed(UNKNOWN),
      role: guessed(UNKNOWN),
    },
    virtualCluster: GUESS,
    idle: {
      ms: 1_000,
      // 10 minutes are documented for Azure Cache for Redis, its predecessor:
      // https://learn.microsoft.com/azure/azure-cache-for-redis/cache-best-practices-connection
      evidence: GUESS,
    },
  },
  {
    name: 'Memorystore',
    id: 'memorystore',
    refuses: {
      client: quoted(UNKNOWN_5, MEMORYSTORE_CLIENT),
      config: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      acl: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      cluster: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      command: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      monitor: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      object: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
      replicaof: listed(UNKNOWN_5, MEMORYSTORE_LIST, MEMORYSTORE_CLIENT),
    },
  },
  {
    name: 'Upstash',
    id: 'upstash',
    refuses: {
      // The page lists what is supported; these are not on it. PUBSUB is.
      wait: listed(UPSTASH, UPSTASH_LIST, UPSTASH_WORDS),
      config: listed(UPSTASH, UPSTASH_LIST, UPSTASH_WORDS),
      cluster: listed(UPSTASH, UPSTASH_LIST, UPSTASH_WORDS),
      // It answers an empty list (https://github.com/upstash/redis-js/issues/422): no worse for an inspector.
      'client list': listed(UPSTASH, UPSTASH_LIST, UPSTASH_WORDS),
    },
    idle: { ms: 1_500, evidence: GUESS },
  },
  {
    name: 'Alibaba Cloud, proxy mode',
    id: 'alibaba-proxy',
    refuses: { wait: quoted(UNKNOWN_SHORT, 'https://github.com/redisson/redisson/issues/6716') },
  },
  {
    name: 'Tencent Cloud',
    id: 'tencent',
    refuses: {
      'client list': listed(UNKNOWN, TENCENT_LIST),
      'client info': listed(UNKNOWN, TENCENT_LIST),
      'client tracking': listed(UNKNOWN, TENCENT_LIST),
      reset: listed(UNKNOWN, TENCENT_LIST),
    },
  },
  {
    name: 'OCI Cache, not sharded',
    id: 'oci-cache',
    refuses: {
      acl: listed(UNKNOWN, OCI_LIST),
      cluster: listed(UNKNOWN, OCI_LIST),
      'config set': listed(UNKNOWN, OCI_LIST),
      replicaof: listed(UNKNOWN, OCI_LIST),
    },
  },
  {
    name: 'a proxy that gives few rights',
    id: 'few-rights',
    refuses: {
      'client list': quoted(
        "NOPERM User app has no permissions to run the 'client|list' command",
        'https://github.com/taskforcesh/bullmq/issues/2809',
      ),
      client: guessed("NOPERM User app has no permissions to run the '%s' command"),
      config: guessed("NOPERM User app has no permissions to run the '%s' command"),
      info: guessed("NOPERM User app has no permissions to run the '%s' command"),
      pubsub: guessed("NOPERM User app has no permissions to run the '%s' command"),
      wait: guessed(UNKNOWN_SHORT),
    },
    idle: { ms: 1_000, evidence: GUESS },
  },
];

/** A service that runs no scripts: there are no locks. */
export const WITHOUT_SCRIPTS: ProviderProfile = {
  name: 'OCI Cache, sharded',
  id: 'oci-cache-sharded',
  refuses: Object.fromEntries(
    ['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall', 'fcall_ro', 'function', 'script', 'config set', 'acl'].map(
      (command) => [command, listed(UNKNOWN, OCI_LIST)],
    ),
  ),
  virtualCluster: GUESS,
};

/** What a service answers to a command; `undefined`: it serves it. */
export function refusalOf({ refuses }: ProviderProfile, words: readonly string[]): string | undefined {
  const [command = '', first = ''] = words;
  const name = command.toLowerCase();
  const refusal = refuses[`${name} ${first.toLowerCase()}`] ?? refuses[name];
  return refusal?.says.replace('%s', command).replace('%S', command.toUpperCase()).replace('%a', first);
}
