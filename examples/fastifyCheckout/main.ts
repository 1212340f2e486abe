/**
 * `npm run example:fastify`: two Fastify servers sell ten pieces to forty buyers at once. Without a lock, both read the
 * same stock, and more than ten are sold. With `request.withLock` exactly ten are.
 */
import fastify, { type FastifyInstance } from 'fastify';
import { Redis } from 'ioredis';
import type { AddressInfo } from 'node:net';
import { redissonPlugin } from '../../lib/integrations/fastify';
import { exampleRedis } from '../exampleRedis';

const GOODS = 10;
const BUYERS = 40;
const STOCK = `ioredisson-example:stock:${process.pid}`;

/** One server of the shop. Both checkouts read the stock, take their time, and write it. */
async function openShop(url: string, redis: Redis): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(redissonPlugin, { url });

  const checkout = async (): Promise<{ sold: boolean }> => {
    const stock = Number(await redis.get(STOCK));
    if (stock === 0) return { sold: false };
    await redis.ping(); // the payment
    await redis.set(STOCK, stock - 1);
    return { sold: true };
  };
  app.post('/checkout/unlocked', checkout);
  // The wait ends when the buyer goes away.
  app.post('/checkout', (request) => request.withLock(`${STOCK}:lock`, checkout, { waitTime: 10_000 }));

  await app.listen({ port: 0, host: '127.0.0.1' });
  return app;
}

async function main(): Promise<void> {
  const server = await exampleRedis();
  const redis = new Redis(server.url);
  const shops = [await openShop(server.url, redis), await openShop(server.url, redis)];
  const ports = shops.map((shop) => (shop.server.address() as AddressInfo).port);

  const sellTo = async (buyers: number, path: string): Promise<number> => {
    await redis.set(STOCK, GOODS);
    const answers = Array.from({ length: buyers }, async (_, i) => {
      const response = await fetch(`http://127.0.0.1:${ports[i % ports.length]}${path}`, { method: 'POST' });
      return (await response.json()) as { sold: boolean };
    });
    return (await Promise.all(answers)).filter(({ sold }) => sold).length;
  };

  try {
    console.log(`${GOODS} goods, ${BUYERS} buyers at once, ${shops.length} servers`);
    console.log(`without a lock: ${await sellTo(BUYERS, '/checkout/unlocked')} sold`);
    const sold = await sellTo(BUYERS, '/checkout');
    console.log(`with the lock:  ${sold} sold`);
    if (sold !== GOODS) process.exitCode = 1;
  } finally {
    await Promise.all(shops.map((shop) => shop.close()));
    await redis.del(STOCK);
    redis.disconnect();
    await server.stop();
  }
}

void main();
