/** What became of a command that was answered with an error, or not at all. */
export type Failure =
  /** The connection is gone: it may have run. */
  | 'lost'
  /** The connection refused it: it was not written. */
  | 'unsent'
  /** The script is not cached on that server: it did not run. */
  | 'noScript'
  /** The server cannot serve now (failing over, loading, busy): it did not run, and may later. */
  | 'unavailable'
  /** The key holds another type. */
  | 'wrongType'
  /** Redis refuses it, now and later. */
  | 'refused';

/** Replies of a server that did not run the command and will be able to, or another one in its place. */
const UNAVAILABLE = /^(READONLY|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|UNBLOCKED|NOREPLICAS)\b|Too many Cluster redirections/;
const LOST = /Connection is closed|closed by|ECONNRESET|EPIPE|ETIMEDOUT|Reached the max retries|aborted due to connection/i;
const UNSENT = /isn't writeable|None of startup nodes is available|Failed to refresh slots cache|Cluster is (disconnect|ended)/i;

/** Sorts an error of ioredis. */
export function classify(error: Error): Failure {
  const { message } = error;
  if (message.startsWith('NOSCRIPT')) return 'noScript';
  if (message.startsWith('WRONGTYPE') || message.includes('WRONGTYPE')) return 'wrongType';
  if (UNAVAILABLE.test(message)) return 'unavailable';
  if (UNSENT.test(message)) return 'unsent';
  if (LOST.test(message) || error.name === 'MaxRetriesPerRequestError' || error.name === 'AbortError') return 'lost';
  return 'refused';
}
