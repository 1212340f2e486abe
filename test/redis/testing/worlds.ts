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

/**
 * Lets so much time pass for the keys that match: for their leases, and for the times in them, which scripts compare
 * with the server's clock: scores of permits and of fair queues, ends of a group's values, claims (`score:end:probed`).
 */
const PASS = `
  local passed = tonumber(ARGV[2])
  local function earlier(text)
    local time = tonumber(text)
    if not time or time < 1e12 or time > 1e14 then return nil end
    return string.format('%.0f', time - passed)
  end
  local function shiftScores(key)
    local all = redis.call('zrange', key, 0, -1, 'withscores')
    for i = 1, #all, 2 do
      local score = earlier(all[i + 1])
      if score then redis.call('zadd', key, score, all[i]) end
    end
  end
  local function shiftFields(key)
    local all = redis.call('hgetall', key)
    for i = 1, #all, 2 do
      local field, value = all[i], all[i + 1]
      local score, ends, probed = string.match(value, '^([^:]*):([^:]*):(%d)$')
      if score then redis.call('hset', key, field, earlier(score) .. ':' .. earlier(ends) .. ':' .. probed)
      elseif string.sub(field, -12) == ':expire_time' then redis.call('hset', key, field, earlier(value)) end
    end
  end
  for _, key in ipairs(redis.call('keys', ARGV[1])) do
    local left = redis.call('pttl', key)
    if left >= 0 and left <= passed then redis.call('del', key)
    else
      if left >= 0 then redis.call('pexpire', key, left - passed) end
      local kind = redis.call('type', key).ok
      if kind == 'zset' then shiftScores(key) elseif kind == 'hash' then shiftFields(key) end
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
