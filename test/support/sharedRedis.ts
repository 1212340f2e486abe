import { RedisServer } from '../../tools/redisServer';

let server: RedisServer | undefined;
let url: string | undefined;

/**
 * The server the tests of this process share: the one `REDIS_URL` names, else a private one that the root hook in
 * `hooks.ts` has started before the first test. One server per process, so npm scripts may run side by side.
 */
export function redisUrl(): string {
  if (url === undefined) throw new Error('no server: only tests outside test/unit, structure, types, package have one');
  return url;
}

/** The private shared server; `undefined` when `REDIS_URL` names somebody else's. Don't stop it: start your own. */
export function sharedServer(): RedisServer | undefined {
  return server;
}

/** Used by the root hooks. */
export async function startSharedRedis(): Promise<void> {
  if (url !== undefined) return;
  const given = process.env['REDIS_URL'];
  if (given !== undefined && given !== '') {
    url = given;
    return;
  }
  server = await RedisServer.start();
  url = server.url;
}

/** Used by the root hooks. */
export async function stopSharedRedis(): Promise<void> {
  await server?.stop();
  server = undefined;
  url = undefined;
}
