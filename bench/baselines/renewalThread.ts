import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { ownerNames } from '../references/lockScripts';
import { compareAndDelete, pollUntil } from './polling';

const pollMs = 10;
const renewMs = 3_000;

/** Seed: setIfAbsent polled every 10 ms, and one global timer that extends all locks of the process every 3 seconds. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  const unlockSha = String(await redis.script('LOAD', compareAndDelete));
  const held = new Set<string>();
  const nextOwner = ownerNames();
  setInterval(() => {
    for (const name of held) void redis.pexpire(name, options.watchdogMs);
  }, renewMs).unref();
  return {
    handle: (name) => {
      const owner = nextOwner();
      const attempt = async (): Promise<boolean> =>
        (await redis.set(name, owner, 'PX', options.watchdogMs, 'NX')) === 'OK';
      return {
        lock: async () => {
          await pollUntil(attempt, pollMs);
          held.add(name);
        },
        unlock: async () => {
          held.delete(name);
          await redis.evalsha(unlockSha, 1, name, owner);
        },
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
