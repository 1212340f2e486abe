import { CommandError, ConnectionError } from '../errors';
import type { Call } from './Call';
import type { Link } from './Link';
import { driverError } from './driverError';
import { classify, isReply } from './replyErrors';

/**
 * The error of a call that nobody could be reached for, or whose connection broke.
 * @param cause - what happened to it, where that is known better than by the link's last error
 */
export function connectionError(call: Pick<Call, 'what' | 'sends'>, link: Link, cause?: Error): ConnectionError {
  const raw = cause ?? link.refusal ?? link.lastError;
  const reason = raw && driverError(raw);
  return new ConnectionError(message(call, link, reason), call.sends > 0, reason && { cause: reason });
}

/** The error of a call that did not run this time, and may not be tried again. @param error - why not */
export function denial(call: Call, link: Link, error: Error): Error {
  const failure = classify(error);
  if (call.sends > 0 || failure === 'unsent' || failure === 'redirected') return connectionError(call, link, error);
  if (failure === 'wrongType' && call.name !== undefined) return CommandError.wrongType(call.name, driverError(error));
  return new CommandError(call.what, driverError(error));
}

function message(call: Pick<Call, 'what' | 'sends'>, link: Link, reason: Error | undefined): string {
  const where = `Redis at ${link.address}`;
  if (call.sends > 0) {
    return `The connection to ${where} was lost before the answer came (${call.what}); it may have been done or not.`;
  }
  if (link.refusal !== undefined) {
    return `${where} does not let us in (${call.what}): ${driverError(link.refusal).message}`;
  }
  const why = reason === undefined ? '' : `: ${reason.message}`;
  // It answers, so it runs: it loads its data, has no room for another client, or runs a long script.
  if (reason !== undefined && isReply(reason)) return `${where} cannot serve us now (${call.what})${why}`;
  return `${where} cannot be reached (${call.what})${why}. Is it running, and is the address right?`;
}
