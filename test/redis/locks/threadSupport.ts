import type { Redis } from 'ioredis';
import { Worker } from 'node:worker_threads';
import type { Redisson } from '../../../lib';
import { threadFile } from '../../../tools/threadFile';
import { sleepUntil } from '../../support';

/** Makes the file that the threads of this process run, so that no test waits for it. */
export function prepareThread(): void {
  threadFile();
}

/** Blocks the event loop: timers and sockets alike. */
export function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The id of the connection of a client's watchdog thread; `undefined` if it has none. */
export async function threadConnection(redis: Redis, client: Redisson): Promise<string | undefined> {
  const list = (await redis.client('LIST')) as string;
  const line = list.split('\n').find((one) => one.includes(client.getId()) && one.includes(':watchdog '));
  return line === undefined ? undefined : /^id=(\d+)/.exec(line)![1];
}

/** Waits until the watchdog thread of a client is connected. */
export async function threadReady(redis: Redis, client: Redisson): Promise<string> {
  let id: string | undefined;
  const connected = async (): Promise<boolean> => (id = await threadConnection(redis, client)) !== undefined;
  await sleepUntil(connected, { timeout: 10_000, message: 'a connection of the watchdog thread' });
  return id!;
}

/** Sends commands to Redis later, from another thread: the event loop of this one may be blocked. */
export async function sendLater(url: string, afterMs: number, commands: readonly (readonly string[])[]): Promise<void> {
  const source = `
    const { Redis } = require('ioredis');
    const { parentPort, workerData: { url, afterMs, commands } } = require('node:worker_threads');
    const redis = new Redis(url);
    redis.on('error', () => undefined);
    redis.ping().then(() => {
      parentPort.postMessage('ready');
      setTimeout(async () => {
        for (const [name, ...args] of commands) await redis.call(name, ...args).catch(() => undefined);
        redis.disconnect();
      }, afterMs);
    });
  `;
  const worker = new Worker(source, { eval: true, workerData: { url, afterMs, commands } });
  await new Promise((resolve) => worker.once('message', resolve));
}
