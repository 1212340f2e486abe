import { Redis } from 'ioredis';
import { Config, Redisson } from '../../lib';

/**
 * Makes a client, has a lock asked for, shuts down, and does nothing to end the process. Arguments: options, pause in
 * ms.
 */
async function main([options = '{}', pause = '0']: string[]): Promise<void> {
  const { config, copyOf, ...more } = JSON.parse(options) as {
    config?: object;
    copyOf?: { sentinels: []; name: string };
  };
  const given = copyOf && { client: new Redis({ ...copyOf, lazyConnect: true }) };
  const client = Redisson.create(config === undefined ? (given ?? more) : Config.fromJSON(JSON.stringify(config)));
  const asked = client.getLock('asked-for').lock(1_000);
  const ended = asked.then(
    () => 'acquired',
    (error: Error) => error.name,
  );
  await new Promise((resolve) => setTimeout(resolve, Number(pause)));
  const startedAt = performance.now();
  process.once('exit', () => console.log(JSON.stringify({ ms: Math.round(performance.now() - startedAt) })));
  await client.shutdown();
  await ended;
  // A socket that is open at this time is closed politely, which takes a tenth of a second at most.
  const later = setTimeout(() => console.log(JSON.stringify({ left: process.getActiveResourcesInfo() })), 400);
  later.unref();
}

void main(process.argv.slice(2));
