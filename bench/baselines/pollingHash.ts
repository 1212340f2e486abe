import { Redis } from 'ioredis';
import { type LockHandle, type LockSession, type SessionOptions } from '../harness/contestant';
import { ownerNames } from '../references/lockScripts';
import { pollUntil } from './polling';

const pollMs = 50;

const lockScript = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
`;

const unlockScript = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end
return redis.call('del', KEYS[1])
`;

const renewScript = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])
`;

/** Seed: a reentrant hash like Redisson's, polled every 50 ms, and a timer that renews it one single time. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  const shas = await Promise.all([lockScript, unlockScript, renewScript].map((script) => redis.script('LOAD', script)));
  const [lockSha, unlockSha, renewSha] = shas.map(String) as [string, string, string];
  const nextOwner = ownerNames();
  return {
    handle: (name) => {
      const owner = nextOwner();
      let renewal: NodeJS.Timeout | undefined;
      const attempt = async (): Promise<boolean> =>
        (await redis.evalsha(lockSha, 1, name, owner, options.watchdogMs)) === 1;
      return {
        lock: async () => {
          await pollUntil(attempt, pollMs);
          renewal = setTimeout(
            () => void redis.evalsha(renewSha, 1, name, owner, options.watchdogMs),
            options.watchdogMs / 3,
          );
        },
        unlock: async () => {
          clearTimeout(renewal);
          await redis.evalsha(unlockSha, 1, name, owner);
        },
      } satisfies LockHandle;
    },
    close: async () => {
      await redis.quit();
    },
  };
}
