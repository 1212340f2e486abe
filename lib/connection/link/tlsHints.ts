import { driverError } from './driverError';

/** How a server that speaks TLS answers one who does not: an alert. */
export const TLS_ALERT = /^\x15\x03/;

/** What is said of TLS on one side only. */
export const TLS_HINTS = {
  theirs: 'the server speaks TLS: use a rediss:// address',
  maybeTheirs: 'it ended the connection before it said anything; if it speaks TLS, use a rediss:// address',
  maybeNotTheirs: 'no TLS handshake; if the server does not speak TLS, use a redis:// address',
} as const;

/** An error with an explanation. */
export function hinted(error: Error, hint: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  return driverError(Object.assign(new Error(`${error.message} (${hint})`), code !== undefined && { code }));
}
