import { createHash, randomBytes } from 'node:crypto';

/**
 * The contents of a ticket of `detach()`. It names no server and has no password. Any client that has it can take up
 * the hold, so pass it on only with the work itself.
 */
export interface Ticket {
  /** The kind of the lock. */
  readonly kind: string;
  /** The name of the lock, as its user gave it. */
  readonly name: string;
  /** The lease that the hold was left with, in ms. */
  readonly leaseMs: number;
  /** The number of the database. */
  readonly database: string;
  /** A hash of the addresses of the servers: equal for clients with the same configuration. */
  readonly servers: string;
  /** A secret: the owner in Redis is derived from it, and it cannot be derived from the owner. */
  readonly secret: string;
}

/** The start of every ticket, with the version of its format. */
const PREFIX = 'ioredisson-ticket.1.';

/** A secret for a new ticket. */
export function newSecret(): string {
  return randomBytes(18).toString('base64url');
}

/** The ticket as text: one word of letters, digits, `-`, `_` and `.`. */
export function ticketText({ kind, name, leaseMs, database, servers, secret }: Ticket): string {
  const content = Buffer.from(JSON.stringify([kind, name, leaseMs, database, servers, secret])).toString('base64url');
  return `${PREFIX}${content}.${shortHash(PREFIX + content)}`;
}

/** The ticket of a text. @returns `undefined` for anything but the unchanged text of a ticket */
export function parseTicket(text: unknown): Ticket | undefined {
  if (typeof text !== 'string' || !text.startsWith(PREFIX)) return undefined;
  const [content = '', sum, ...more] = text.slice(PREFIX.length).split('.');
  if (more.length > 0 || sum !== shortHash(PREFIX + content)) return undefined;
  const fields = readFields(content);
  if (fields?.length !== 6 || !Number.isSafeInteger(fields[2]) || (fields[2] as number) <= 0) return undefined;
  const [kind, name, leaseMs, database, servers, secret] = fields as [string, string, number, string, string, string];
  if (![kind, name, database, servers, secret].every((one) => typeof one === 'string')) return undefined;
  return { kind, name, leaseMs, database, servers, secret };
}

function readFields(content: string): unknown[] | undefined {
  try {
    const fields: unknown = JSON.parse(Buffer.from(content, 'base64url').toString());
    return Array.isArray(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The client id of the owner that keeps the lock for a ticket: a UUID of version 8 (RFC 9562), which no client has. It
 * is made of the secret, the kind and the key, so a ticket can name no other owner.
 */
export function ticketOwnerId({ kind, secret }: Pick<Ticket, 'kind' | 'secret'>, rawName: string): string {
  const bytes = createHash('sha256').update(`${secret}\u0000${kind}\u0000${rawName}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A short hash of a text. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
