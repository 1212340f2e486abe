import { RedisServer } from '../tools/redisServer';

/** A Redis for an example. */
export interface ExampleRedis {
  readonly url: string;
  /** Ends the server, if it was started for the example. */
  readonly stop: () => Promise<void>;
}

/** The server that `REDIS_URL` names; without it, a private one on a free port. */
export async function exampleRedis(): Promise<ExampleRedis> {
  const url = process.env['REDIS_URL'];
  if (url !== undefined && url !== '') return { url, stop: () => Promise.resolve() };
  const server = await RedisServer.start();
  return { url: server.url, stop: () => server.stop() };
}
