import type { Redis } from 'ioredis';
import type { SinonFakeTimers } from 'sinon';
import type { RedissonClient } from '../../../lib';
import { createTestRedisson } from '../../../lib/testing';
import { serverOf } from '../../../lib/testing/createTestRedisson';
import { memoryRedis } from '../../contracts/memoryRedis';
import { trackClient, turn } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

/** Settings of every client: few renewals, since each takes a look at everything. */
const SETTINGS = { lockWatchdogTimeout: 90_000 };

/** Clients, and what becomes of the time of what they share. */
export interface World {
  readonly clients: readonly [RedissonClient, RedissonClient];
  /** Reads keys. */
  readonly redis: Redis;
  /** So much time passes where the keys are. */
  pass(ms: number): Promise<void>;
  /** Resolves when all that was begun has ended, or waits for time to pass. */
  settle(): Promise<void>;
}

/** Two test clients that share a store. */
export function inMemory(): World {
  const store = {};
  const clients = [0, 1].map(() => trackClient(createTestRedisson({ ...SETTINGS, store })));
  return {
    clients: clients as unknown as World['clients'],
    redis: memoryRedis(serverOf(store)),
    pass: () => Promise.resolve(),
    settle: turn,
  };
}

/** Lets so much time pass for the keys that match. */
const PASS = `
  for _, key in ipairs(redis.call('keys', ARGV[1])) do
    local left = redis.call('pttl', key)
    if left >= 0 then
      if left <= tonumber(ARGV[2]) then redis.call('del', key)
      else redis.call('pexpire', key, left - ARGV[2]) end
    end
  end
  local now = redis.call('time')
  return now[1] * 1000 + math.floor(now[2] / 1000)`;

/**
 * Two clients of the shared server. Its time is virtual too: what the fake clock goes on by is taken from the leases of
 * its keys, less what has passed for real, so that a slow machine changes nothing.
 */
export async function onServer(prefix: string): Promise<World> {
  const redis = bareClient();
  const clients = [newClient(SETTINGS), newClient(SETTINGS)] as const;
  const serverTime = async (ms: number): Promise<number> => Number(await redis.eval(PASS, 0, `*${prefix}*`, ms));
  let at = await serverTime(0);
  const commands = async (): Promise<number> =>
    Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  return {
    clients,
    redis,
    async pass(ms) {
      const [seconds, micros] = (await redis.time()) as [number, number];
      const passed = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) - at;
      at = await serverTime(ms - passed);
    },
    async settle() {
      // Nobody sent a command besides these three, and whatever was answered or published before has been read.
      for (let before = 0; ;) {
        const now = await commands();
        if (now - before === 3) return;
        before = now;
        for (const client of clients) await client.ping();
        await turn();
      }
    },
  };
}

/** Lets fake time pass, from timer to timer. */
export async function advance(world: World, clock: SinonFakeTimers, ms: number): Promise<void> {
  const end = clock.now + ms;
  while (clock.now < end) {
    const step = Math.max(0, Math.min(Math.ceil(nextTimer(clock)), end) - clock.now);
    await world.pass(step);
    await clock.tickAsync(step);
    await world.settle();
  }
}

/** When the next timer is due. sinon tells it to nobody. */
function nextTimer(clock: SinonFakeTimers): number {
  if (clock.countTimers() === 0) return Infinity;
  const { timers } = clock as unknown as { timers?: unknown };
  if (!(timers instanceof Map)) throw new Error('the fake clock keeps its timers in another way');
  return Math.min(...[...(timers as Map<number, { readonly callAt: number }>).values()].map(({ callAt }) => callAt));
}
