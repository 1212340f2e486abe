import { fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { compiledFolder } from '../harness/compileWorkers';

/** A Redis that seems further away. */
export interface DistantRedis {
  /** Where the workers connect. */
  readonly url: string;
  /** Ends the process between. */
  stop(): void;
}

/**
 * Puts a process of its own between the workers and Redis, which delays everything by half the distance in each
 * direction.
 *
 * @param url - of the Redis
 * @param distanceMs - what a round trip takes longer, in ms; above 0
 */
export async function startDistance(url: string, distanceMs: number): Promise<DistantRedis> {
  const { hostname, port } = new URL(url);
  const program = path.join(compiledFolder, 'distance', 'proxyMain.js');
  const child = fork(program, [String(distanceMs), hostname, port || '6379'], { execArgv: [] });
  const [proxyPort] = (await once(child, 'message')) as [number];
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxyPort);
  return { url: proxied.href, stop: () => void child.kill() };
}
