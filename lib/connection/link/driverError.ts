/** The fields of a socket error that are kept besides its message. */
const PLAIN_FIELDS = ['code', 'errno', 'syscall', 'hostname', 'address', 'port'] as const;
/**
 * Redis repeats the arguments of a command it does not know: `ERR unknown command 'X', with args beginning with: …`.
 */
const REPEATED_ARGUMENTS = /,? with args beginning with:.*$/s;
/** Lua quotes the text that it cannot read. */
const SCRIPT_TEXT = /(Error compiling script).*$/s;
/** Advice of several sentences for the administrator of a server in protected mode. */
const ADVICE = /(^DENIED .*?loopback interface\.).*$/s;
/** Commands whose arguments are secrets. */
const SECRET_COMMANDS = /^(auth|hello)$/i;
/** Arguments of those commands that are not secret, and common words. */
const NO_SECRETS = /^(auth|setname|default|[23])$/i;
/**
 * Redis' own words in replies to those commands. They contain no password, even where one equals one of the words.
 */
const OWN_WORDS = [
  /^WRONGPASS invalid username-password pair or user is disabled\.?$/,
  /^ERR (?:AUTH failed: )?(?:WRONGPASS )?invalid password\.?$/,
  /^ERR AUTH <password> called without any password configured for the default user\. Are you sure your configuration is correct\?$/,
  /^ERR Client sent AUTH, but no password is set\.?$/,
  /^ERR wrong number of arguments for '(?:auth|hello)' command$/i,
  /^ERR unknown command [`']?(?:auth|hello)[`']?$/i,
  /^ERR max number of clients reached/,
  /^NOPERM (?:User \S+|this user) has no permissions to run the '[a-z|]+' command/i,
  /^NOAUTH (?:Authentication required\.?|HELLO must be called with the client already authenticated, otherwise the HELLO (?:<proto> )?AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time)$/,
  /^NOPROTO unsupported protocol version$/,
  /^(?:LOADING Redis is loading|BUSY Redis is busy|MASTERDOWN Link with MASTER is down|DENIED Redis is running in protected mode)/,
];
/** Replaces any other text in which a password is one of the words. */
const LEFT_OUT = "(the server's words are left out: they repeat what was sent)";

/** What ioredis attaches to the errors of its commands. */
interface DriverError extends Error {
  readonly command?: { readonly name?: unknown; readonly args?: unknown };
  readonly errors?: readonly unknown[];
}

/** The copies made, so that one error gives one copy; copying a copy returns it. */
const copies = new WeakMap<Error, Error>();

/**
 * A copy of an error of the driver that is safe to show: its name, its message and the fields of a socket error.
 * ioredis' own errors carry the command with its arguments (the password of AUTH, the text of a script), in several
 * places that differ between its versions. So nothing else is copied. Every error that leaves this folder, as itself
 * or as a `cause`, goes through here.
 */
export function driverError(error: Error): Error {
  const known = copies.get(error);
  if (known !== undefined) return known;
  const message = cleanMessage(error);
  const copy = new Error(message);
  Object.defineProperty(copy, 'name', { value: error.name, configurable: true, writable: true });
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  Object.defineProperty(copy, 'stack', {
    value: [`${error.name}: ${message}`, ...frames].join('\n'),
    configurable: true,
    writable: true,
  });
  const fields = error as unknown as Readonly<Record<string, unknown>>;
  for (const field of PLAIN_FIELDS) {
    const value = fields[field];
    if (typeof value === 'string' || typeof value === 'number') Object.assign(copy, { [field]: value });
  }
  copies.set(error, copy);
  copies.set(copy, copy);
  return copy;
}

/**
 * An error as Redis would have answered it, for what ioredis does not report.
 * @param text - e.g. `ERR max number of clients reached`
 * @param command - the command it answers, to remove its secrets
 */
export function replyError(text: string, command?: DriverError['command']): Error {
  return driverError(Object.assign(new Error(text), { name: 'ReplyError', command }));
}

function cleanMessage(error: DriverError): string {
  const { message, command, errors } = error;
  // Node tried several addresses of one name; it leaves its own message empty.
  if (message === '' && Array.isArray(errors)) {
    return errors.map((one) => (one instanceof Error ? one.message : '')).join('; ');
  }
  const short = message.replace(REPEATED_ARGUMENTS, '').replace(SCRIPT_TEXT, '$1').replace(ADVICE, '$1');
  return withoutArguments(short, command);
}

/**
 * Removes what a server repeats of AUTH and HELLO. Words are not replaced one by one: a gap in a known text would
 * give the password away, and a short password would spoil the text.
 */
function withoutArguments(message: string, command: DriverError['command']): string {
  if (!Array.isArray(command?.args) || !SECRET_COMMANDS.test(String(command.name))) return message;
  if (OWN_WORDS.some((words) => words.test(message))) return message;
  const sent = command.args.flat().filter((arg) => typeof arg === 'string' && arg !== '' && !NO_SECRETS.test(arg));
  if (!(sent as string[]).some((arg) => hasWord(message, arg))) return message;
  return `${/^[A-Z]+(?= )/.exec(message)?.[0] ?? 'ERR'} ${LEFT_OUT}`;
}

/** Whether a text contains another one, not as a part of a longer word. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!/\w$/.test(text.slice(0, at)) && !/^\w/.test(text.slice(at + word.length))) return true;
  }
  return false;
}

/** How a TLS server answers a client that does not use TLS: with an alert. */
export const TLS_ALERT = /^\x15\x03/;

/** Hints for TLS on one side only. */
export const TLS_HINTS = {
  theirs: 'the server speaks TLS: use a rediss:// address',
  maybeTheirs: 'it ended the connection before it said anything; if it speaks TLS, use a rediss:// address',
  maybeNotTheirs: 'no TLS handshake; if the server does not speak TLS, use a redis:// address',
} as const;

/** What to do about the words of a server that say only what is wrong. */
const REMEDIES: readonly (readonly [words: RegExp, remedy: string])[] = [
  [/^NOAUTH/, 'It wants a password: set `password` (and `username`), or write redis://:password@host.'],
  [/^WRONGPASS|\binvalid password/, 'Check `username` and `password`.'],
  [/unknown command [`']?sentinel/i, 'It is no sentinel: give the addresses of those, whose port usually is 26379.'],
];

/** What to do about an error of a server, if its words do not say so; with a space before it. */
export function remedy(error: Error): string {
  const found = REMEDIES.find(([words]) => words.test(error.message));
  return found === undefined ? '' : `${/[.!?]$/.test(error.message) ? '' : '.'} ${found[1]}`;
}

/** An error with an explanation. */
export function hinted(error: Error, hint: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  return driverError(Object.assign(new Error(`${error.message} (${hint})`), code !== undefined && { code }));
}
