import { on, once } from 'node:events';
import type { Socket } from 'node:net';
import { inTime } from '../../util/timing';
import { hinted, replyError, TLS_ALERT, TLS_HINTS } from './driverError';
import type { Login } from './loginSources';

/** What an old server, or a sentinel without a password, replies to AUTH: it accepts every client. */
const NEEDS_NONE = /^ERR (?:AUTH <password> called without any password|Client sent AUTH, but no password is set)/;

/** How a socket is logged in. */
export interface AuthenticateOptions {
  /** Whether it is a TLS socket. */
  readonly secure: boolean;
  /** How long it may take to open, in ms. */
  readonly connectTimeout: number;
  /** How long the server may take to answer, in ms. */
  readonly timeout: number;
}

/** Resolves when a socket is open. Rejects with the error that closed it. */
export async function opened(stream: Socket, { secure, connectTimeout }: AuthenticateOptions): Promise<void> {
  if (stream.destroyed) throw new Error('Connection is closed.');
  if (!secure && !stream.connecting) return;
  const event = secure ? 'secureConnect' : 'connect';
  await settled(stream, connectTimeout, 'connect ETIMEDOUT', (signal) => once(stream, event, { signal }));
}

/**
 * Logs a socket in before ioredis gets it: ioredis knows only passwords that never change. So the password is neither
 * in the options of ioredis nor in a command that one of its errors would carry.
 */
export async function authenticate(stream: Socket, login: Login, options: AuthenticateOptions): Promise<void> {
  const reply = await exchange(stream, ['AUTH', ...authArguments(login)], options);
  if (reply.startsWith('-')) throw authError(reply, login);
}

/** As {@link authenticate}, for a sentinel. One without a password refuses every login, so this is checked first. */
export async function authenticateIfAsked(stream: Socket, login: Login, options: AuthenticateOptions): Promise<void> {
  if (!(await exchange(stream, ['PING'], options)).startsWith('-NOAUTH')) return;
  const reply = await exchange(stream, ['AUTH', ...authArguments(login)], options);
  if (reply.startsWith('-') && !NEEDS_NONE.test(reply.slice(1))) throw authError(reply, login);
}

/** The arguments of AUTH. */
export function authArguments({ username, password }: Login): string[] {
  return username === undefined ? [password] : [username, password];
}

/** The reply to AUTH, without what was sent. */
function authError(reply: string, login: Login): Error {
  return replyError(reply.slice(1), { name: 'auth', args: authArguments(login) });
}

/** Sends a command. @returns the first line of the reply */
async function exchange(stream: Socket, words: readonly string[], options: AuthenticateOptions): Promise<string> {
  // The socket may have closed while the login was requested.
  if (stream.destroyed) throw new Error('Connection is closed.');
  let text = '';
  const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  try {
    await settled(stream, options.timeout, 'the server does not answer', async (signal) => {
      const received = on(stream, 'data', { signal }) as AsyncIterable<[Buffer]>;
      stream.write(`*${words.length}\r\n${bulks.join('')}`);
      for await (const [data] of received) {
        text += data.toString('latin1');
        if (text.includes('\r\n') || TLS_ALERT.test(text)) return;
      }
    });
  } catch (error) {
    if (options.secure || text !== '' || !stream.destroyed) throw error;
    throw hinted(error as Error, TLS_HINTS.maybeTheirs);
  }
  if (TLS_ALERT.test(text)) throw new Error(TLS_HINTS.theirs);
  return text.slice(0, text.indexOf('\r\n'));
}

/** Waits for an event of a socket, until it closes or takes too long. */
async function settled(
  stream: Socket,
  ms: number,
  late: string,
  act: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  // It rejects with the error of the socket, too.
  const closed = once(stream, 'close', { signal }).then(() => Promise.reject(new Error('Connection is closed.')));
  try {
    const done = await inTime(Promise.race([act(signal), closed]), ms);
    if (done === undefined) throw new Error(late);
  } finally {
    over.abort();
  }
}
