import { ConfigError } from '../../errors';
import { isFull, takesNone } from '../../errors/connectionErrors';
import { UNSENT_TEXT } from './ioredisCompat';

/** What became of a command that was answered with an error, or not at all. */
export type Failure =
  /** The connection is gone: it may have run. */
  | 'lost'
  /** It was not written to any connection. */
  | 'unsent'
  /** The key is on another node by now, and the link knows which: it did not run, and can at once. */
  | 'redirected'
  /** The script is not cached on that server: it did not run. */
  | 'noScript'
  /** The server cannot serve now (failing over, loading, busy): it did not run, and may later. */
  | 'unavailable'
  /** The server takes no data for the time being (no memory, no disk): an acquisition may wait for it. */
  | 'full'
  /** A sound master has too few replicas for now, and no other one will come: an acquisition may wait for them. */
  | 'tooFewReplicas'
  /** The key holds another type. */
  | 'wrongType'
  /** Redis refuses it, now and later. */
  | 'refused';

/** Error codes of a server that did not run the command and will be able to, or another one in its place. */
const UNAVAILABLE = new Set(['READONLY', 'LOADING', 'BUSY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN']);
const REDIRECTED = 'The cluster sends it from node to node';
/**
 * Redis before 7 wraps what a command said to a script: `ERR Error running script (…): @user_script:3: -READONLY …`.
 */
const IN_SCRIPT = /@user_script: ?\d+: -?([A-Z]+ .*)/;
/** Beyond those of {@link UNAVAILABLE}: what a server says that is full for the time being. */
const FULL = /^ERR max number of clients/;
/** Redis 6.2, and later ones, to a subcommand that they do not know. */
const NO_SUBCOMMAND = /^ERR unknown (?:PUBSUB )?subcommand/i;

/** What a link rejects with when it has no connection to write to: as ioredis says it. */
export function unsent(): Error {
  return new Error("The connection isn't writeable");
}

/** What a link rejects with when it has learned of another way. */
export function redirected(): Error {
  return new Error(REDIRECTED);
}

/** Whether an error is Redis' answer, and not a connection's end. */
export function isReply(error: Error): boolean {
  return error.name === 'ReplyError';
}

/** Whether an error says no more than that the connection has ended. */
export function isReset(error: Error): boolean {
  return UNSENT_TEXT.test(error.message) || /^(EPIPE|ECONNRESET)$/.test((error as NodeJS.ErrnoException).code ?? '');
}

/** The reply's text, also where an old Redis wraps it. */
export function replyText(error: Error): string {
  return IN_SCRIPT.exec(error.message)?.[1] ?? error.message;
}

/**
 * What is wrong where sharded pub/sub is asked for and the server has none.
 * @param error - the end of PUBSUB SHARDNUMSUB
 * @returns `undefined` if it has, or if nobody knows, because the user may not ask
 */
export function noShardedPubSub(error: Error): ConfigError | undefined {
  if (!isReply(error) || !NO_SUBCOMMAND.test(error.message)) return undefined;
  return new ConfigError(
    'shardedSubscriptionMode is ON, but the server has no sharded pub/sub (Redis 7 and later have): set it to AUTO or OFF, ' +
      'for all clients, or upgrade the servers',
  );
}

/** Sorts an error of ioredis, or of a link. */
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

/** Whether the server may let us in later, as it is. @param reply - why it refused a connection */
export function isTemporary(reply: Error): boolean {
  return classify(reply) === 'unavailable' || FULL.test(reply.message);
}
