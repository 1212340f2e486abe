import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { redisUrl, sleepUntil, trackClient } from '../../support';
import { TIMEOUT_MS } from './CliProcess';

/** A connection to look at a server with. */
export function observer(url = redisUrl()): Redis {
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  return trackClient(redis);
}

/** A folder of the test, removed after it. */
export function scratchFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-cli-'));
  trackClient({ stop: () => fs.rmSync(folder, { recursive: true, force: true }) });
  return folder;
}

/** A redisson.yaml for one server. @param lines - common settings */
export function configFile(url: string, ...lines: string[]): string {
  const file = path.join(scratchFolder(), 'redisson.yaml');
  fs.writeFileSync(file, [...lines, 'singleServerConfig:', `  address: "${url}"`, ''].join('\n'));
  return file;
}

/** Waits until so many connections listen for the release of a lock: somebody waits for it. */
export async function untilWaitedFor(redis: Redis, name: string, waiters = 1): Promise<void> {
  const channel = `redisson_lock__channel:{${name}}`;
  const listening = async (): Promise<boolean> => Number((await redis.pubsub('NUMSUB', channel))[1]) >= waiters;
  await sleepUntil(listening, { timeout: TIMEOUT_MS, message: `nobody waits for ${name}` });
}

/** Waits until the queue of a fair lock is that long. */
export async function untilQueued(redis: Redis, name: string, waiters: number): Promise<void> {
  const queued = async (): Promise<boolean> => (await redis.llen(`redisson_lock_queue:{${name}}`)) >= waiters;
  await sleepUntil(queued, { timeout: TIMEOUT_MS, message: `not ${waiters} in the queue of ${name}` });
}

/** A shell script that says that it runs, and with which process id, and goes on until it is ended. */
export const STAYS = 'echo "inside $$"; exec sleep 600';
