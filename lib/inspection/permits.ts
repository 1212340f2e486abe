import { suffixName } from '../util/names';
import { defineScript, lua } from '../scripts/Script';
import { PERMIT_WITHOUT_LEASE } from '../scripts/permitData';
import type { PermitReport } from './reports';
import type { RedisView } from './RedisView';

/**
 * The ids of the permits that are out, in hex, each followed by its score. Ids are 16 raw bytes, which a reply that is
 * read as text would garble.
 *
 * KEYS: permits. ARGV: last (the index of the last one to read). Output: id, score, id, score, ...
 */
export const readPermits = defineScript({
  name: 'inspection.permits',
  keys: ['permits'],
  args: ['last'],
  resend: 'always',
  lua: lua`
local found = redis.call('zrange', permits, 0, last, 'withscores')
for i = 1, #found, 2 do
  found[i] = found[i]:gsub('.', function (byte) return string.format('%02x', string.byte(byte)) end)
end
return found
`,
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
