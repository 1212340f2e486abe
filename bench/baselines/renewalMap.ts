import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { ownerNames } from '../references/lockScripts';
import { compareAndDelete, compareAndExpire, pollUntil } from './polling';

const pollMs = 50;
const maxRenewals = 360;

/** Seed: SET NX PX, compare-and-delete, and a map of timers that renew each lock on its own, up to a cap. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  const unlockSha = String(await redis.script('LOAD', compareAndDelete));
  const renewSha = String(await redis.script('LOAD', compareAndExpire));
  const renewals = new Map<string, NodeJS.Timeout>();
  const nextOwner = ownerNames();

  function stopRenewal(owner: string): void {
    clearInterval(renewals.get(owner));
    renewals.delete(owner);
  }

  function startRenewal(name: string, owner: string): void {
    let done = 0;
    const renew = (): void => {
      if ((done += 1) > maxRenewals) stopRenewal(owner);
      else void redis.evalsha(renewSha, 1, name, owner, options.watchdogMs);
    };
    renewals.set(owner, setInterval(renew, options.watchdogMs / 3));
  }

  return {
    handle: (name) => {
      const owner = nextOwner();
      const attempt = async (): Promise<boolean> =>
        (await redis.set(name, owner, 'PX', options.watchdogMs, 'NX')) === 'OK';
      return {
        lock: async () => {
          await pollUntil(attempt, pollMs);
          startRenewal(name, owner);
        },
        unlock: async () => {
          stopRenewal(owner);
          await redis.evalsha(unlockSha, 1, name, owner);
        },
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
