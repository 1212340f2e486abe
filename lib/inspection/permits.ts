import { suffixName } from '../util/names';
import { defineScript } from '../scripts/Script';
import { PERMIT_WITHOUT_LEASE } from '../scripts/permitData';
import type { PermitReport } from './reports';
import type { RedisView } from './RedisView';

/** Ids are 16 raw bytes, which plain replies, read as text, would spoil. */
const readPermits = defineScript({
  name: 'inspection.permits',
  keys: ['permits'],
  args: ['last'],
  lua: `
    local found = redis.call('zrange', permits, 0, last, 'withscores')
    for i = 1, #found, 2 do
      found[i] = found[i]:gsub('.', function (byte) return string.format('%02x', string.byte(byte)) end)
    end
    return found`,
  resend: 'always',
  decode: (reply) => reply as string[],
});

/** The most permits that are read. */
const MAX_PERMITS = 1_000;

/** The key of the permits that are out. */
export function permitsKey(key: string): string {
  return suffixName(key, 'timeout');
}

/** The permits of a permit-expirable semaphore that are out, the next to expire first. */
export async function permitReports(redis: RedisView, key: string): Promise<readonly PermitReport[]> {
  const found = await redis.executor.run(readPermits, { permits: permitsKey(key) }, { last: MAX_PERMITS - 1 });
  const reports: PermitReport[] = [];
  for (let i = 0; i + 1 < found.length; i += 2) {
    const [id = '', score = ''] = [found[i], found[i + 1]];
    reports.push({ id, remainingMs: score === PERMIT_WITHOUT_LEASE ? null : Number(score) - Date.now() });
  }
  return reports;
}
