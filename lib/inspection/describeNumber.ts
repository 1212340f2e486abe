import { channelOf } from './channels';
import { permitsKey } from './permits';
import type { RedisView } from './RedisView';

/** What there is of a semaphore or a latch, without the subscribers of its channels. */
export interface NumberDraft {
  readonly key: string;
  readonly ttlMs: number;
  /** Beyond 2^53, where a number is inexact, as decimal text. */
  readonly value: number | string;
  /** How many permits are out; `undefined` where it has no permits with leases. */
  readonly acquired: number | undefined;
  readonly channelNames: readonly [semaphore: string, latch: string];
}

/** A decimal integer: a number where that is exact, else the text. */
function exactInteger(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

/** Reads the number of a key. @returns `undefined` where there is none */
export async function describeNumber(redis: RedisView, key: string): Promise<NumberDraft | undefined> {
  const [text, ttl, acquired] = await Promise.all([
    // Enough to tell a number, and little of a value that is none.
    redis.read('getrange', key, 0, 20).catch(() => ''),
    redis.read('pttl', key),
    redis.read('zcard', permitsKey(key)).catch(() => 0),
  ]);
  const permits = Number(acquired) > 0 ? Number(acquired) : undefined;
  const isNumber = /^-?\d{1,19}$/.test(text as string);
  if (!isNumber && permits === undefined) return undefined;
  const channelNames = [channelOf.semaphore(key), channelOf.latch(key)] as const;
  return {
    key,
    ttlMs: Number(ttl),
    value: isNumber ? exactInteger(text as string) : 0,
    acquired: permits,
    channelNames,
  };
}
