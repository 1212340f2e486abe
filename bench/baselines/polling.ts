import { sleep } from '../harness/clock';

/** Tries until it works, sleeping `everyMs` ms after each failure: how every seed waits. */
export async function pollUntil(attempt: () => Promise<boolean>, everyMs: number): Promise<void> {
  while (!(await attempt())) await sleep(everyMs);
}

/** Lua: delete the key when it still has the value of this holder. KEYS: lock; ARGV: value. */
export const compareAndDelete = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0
`;

/** Lua: renew the expiry when the key still has the value of this holder. KEYS: lock; ARGV: value, life in ms. */
export const compareAndExpire = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0
`;
