import { ConfigError } from '../../errors';
import { isFull, takesNone } from '../../errors/connectionErrors';
import { UNSENT_TEXT } from './ioredisCompat';

/** Why a command failed: its error reply, or no answer at all. */
export type Failure =
  /** The connection is gone: it may have run. */
  | 'lost'
  /** It was not written to any connection. */
  | 'unsent'
  /** The key has moved to another node, and the link knows which: it did not run, and can run there at once. */
  | 'redirected'
  /** The script is not cached on that server: it did not run. */
  | 'noScript'
  /** The server cannot serve now (failing over, loading, busy): it did not run, and may later. */
  | 'unavailable'
  /** The server accepts no data for now (no memory, no disk): an acquisition may wait for it. */
  | 'full'
  /** A healthy master has too few replicas for now, and will not be replaced: an acquisition may wait for them. */
  | 'tooFewReplicas'
  /** The key holds another type. */
  | 'wrongType'
  /** Redis refuses it, now and later. */
  | 'refused';

/** Error codes of a server that did not run the command, where it or its successor will be able to. */
const UNAVAILABLE = new Set(['READONLY', 'LOADING', 'BUSY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN']);
const REDIRECTED = 'The cluster sends it from node to node';
/**
 * Redis before 7 wraps the error of a command in a script: `ERR Error running script (…): @user_script:3: -READONLY
 * …`.
 */
const IN_SCRIPT = /@user_script: ?\d+: -?([A-Z]+ .*)/;
/** Besides those of {@link UNAVAILABLE}: the server is full. */
const FULL = /^ERR max number of clients/;
/** The reply of Redis 6.2 and later to an unknown subcommand. */
const NO_SUBCOMMAND = /^ERR unknown (?:PUBSUB )?subcommand/i;

/** The error of a link without a connection to write to, in the words of ioredis. */
export function unsent(): Error {
  return new Error("The connection isn't writeable");
}

/** The error of a link that now knows another node for the command. */
export function redirected(): Error {
  return new Error(REDIRECTED);
}

/** Whether an error is a reply of Redis, and not the end of a connection. */
export function isReply(error: Error): boolean {
  return error.name === 'ReplyError';
}

/** Whether an error says only that the connection has ended. */
export function isReset(error: Error): boolean {
  return UNSENT_TEXT.test(error.message) || /^(EPIPE|ECONNRESET)$/.test((error as NodeJS.ErrnoException).code ?? '');
}

/** What a machine, a name service or Redis itself says where a server is gone, or not there yet. */
const GONE = /\b(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENOTFOUND|EAI_AGAIN)\b/;

/** Whether something answers that there is no server just now, as in a failover. A frozen server says nothing. */
export function isGone(error: Error | undefined): boolean {
  if (error === undefined) return false;
  return isReply(error) || GONE.test(error.message) || GONE.test((error as NodeJS.ErrnoException).code ?? '');
}

/** The text of the reply, also where an old Redis wraps it. */
export function replyText(error: Error): string {
  return IN_SCRIPT.exec(error.message)?.[1] ?? error.message;
}

/**
 * The error where sharded pub/sub is required and the server has none.
 * @param error - of PUBSUB SHARDNUMSUB
 * @returns `undefined` if the server has it, or if that is unknown, because the user may not ask
 */
export function noShardedPubSub(error: Error): ConfigError | undefined {
  if (!isReply(error) || !NO_SUBCOMMAND.test(error.message)) return undefined;
  return new ConfigError(
    'shardedSubscriptionMode is ON, but the server has no sharded pub/sub (Redis 7 and later have it): set it to AUTO or OFF, ' +
      'for all clients, or upgrade the servers',
  );
}

/** The error where a cluster is configured and the server is none. @param error - of CLUSTER SLOTS */
export function noCluster(error: Error): ConfigError | undefined {
  if (!isReply(error) || !/cluster support disabled/i.test(error.message)) return undefined;
  return new ConfigError(
    'it is a single server, and the configuration says cluster: use useSingleServer(), or give its redis:// URL alone ' +
      `(${error.message})`,
  );
}

/** Classifies an error of ioredis, or of a link. */
export function classify(error: Error): Failure {
  if (!isReply(error)) {
    if (error.message === REDIRECTED) return 'redirected';
    return UNSENT_TEXT.test(error.message) ? 'unsent' : 'lost';
  }
  const [code = ''] = replyText(error).split(' ', 1);
  if (code === 'NOSCRIPT') return 'noScript';
  if (code === 'WRONGTYPE') return 'wrongType';
  if (isFull(code)) return 'full';
  if (takesNone(code)) return 'tooFewReplicas';
  return UNAVAILABLE.has(code) ? 'unavailable' : 'refused';
}

/** Whether the server may accept the connection later, as it is. @param reply - why it refused */
export function isTemporary(reply: Error): boolean {
  return classify(reply) === 'unavailable' || FULL.test(reply.message);
}
