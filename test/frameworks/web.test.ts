import { expect } from 'chai';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redisson } from '../../lib';
import { redissonMiddleware } from '../../lib/express';
import { redissonPlugin } from '../../lib/fastify';
import { monotonicNow, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';

/** What the handler of a request has come to: the code or name of its error, or what it resolved to. */
type Outcome = (outcome: unknown) => void;

/** A server whose `POST /sell` sells under the lock of `name`, and whose `POST /wait` tells how its wait ended. */
interface Shop {
  readonly redisson: Redisson;
  readonly port: number;
  /** How many sold at once at most. */
  readonly most: () => number;
  /** The end of the next `POST /wait`. */
  readonly waited: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const servers: Readonly<Record<string, (name: string) => Promise<Shop>>> = {
  'ioredisson/fastify': fastifyShop,
  'ioredisson/express': expressShop,
};

describe('ioredisson/fastify and ioredisson/express', () => {
  let name: string;
  let other: Redisson;

  beforeEach(() => {
    name = uniqueName();
    other = Redisson.create(redisUrl());
    trackClient({ close: () => other.shutdown() });
  });

  for (const [title, open] of Object.entries(servers)) {
    describe(title, () => {
      let shop: Shop;

      beforeEach(async () => {
        shop = await open(name);
        trackClient({ close: () => shop.close() });
      });

      it('parallel requests exclude each other', async () => {
        const sold = await Promise.all(Array.from({ length: 8 }, () => post(shop.port, 'sell')));
        expect(sold.map(({ status }) => status)).to.deep.equal(Array.from({ length: 8 }, () => 200));
        expect(sold.map(({ body }) => Number(body)).sort()).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
        expect(shop.most()).to.equal(1);
      });

      it('a client that disconnects while its request waits ends the wait, and leaves nothing behind', async () => {
        await other.getLock(name).withLock(async () => {
          const waited = shop.waited();
          const request = http.request({ port: shop.port, path: '/wait', method: 'POST', agent: false });
          request.on('error', () => undefined);
          request.end();
          await sleepUntil(async () => (await waitersOf(name)) === 1);
          request.destroy();
          expect(await waited).to.equal('AbortError');
          await sleepUntil(async () => (await waitersOf(name)) === 0);
        });
        expect(await other.getLock(name).isLocked()).to.equal(false);
      });

      it('a signal of the caller ends the wait, too', async () => {
        await other.getLock(name).withLock(async () => {
          const waited = shop.waited();
          await post(shop.port, 'wait?abort');
          expect(await waited).to.equal('its own reason');
        });
      });

      it('a wait that is too long is a LockTimeoutError', async () => {
        await other.getLock(name).withLock(async () => {
          const waited = shop.waited();
          await post(shop.port, 'wait?time');
          expect(await waited).to.equal('LOCK_TIMEOUT');
        });
      });
    });
  }

  describe('redissonPlugin', () => {
    it('makes a client of its options, and drains when Fastify closes', async () => {
      const app = fastify();
      await app.register(redissonPlugin, { url: redisUrl(), shutdownDrain: 5_000 });
      await app.ready();
      const { redisson } = app;
      const hold = await redisson.getLock(name).acquire();
      const waiting = redisson.getLock(name).acquire({ threadId: 7 });
      const startedAt = monotonicNow();
      let closed = false;
      const closing = app.close().then(() => void (closed = true));
      expect(await codeOf(waiting)).to.equal('SHUTDOWN');
      expect(closed).to.equal(false);
      await hold.unlock();
      await closing;
      expect(monotonicNow() - startedAt).to.be.below(4_000);
      expect(redisson.state).to.equal('closed');
      expect(await other.getLock(name).isLocked()).to.equal(false);
    });

    it('a request that waits for a lock does not keep Fastify from closing', async () => {
      const shop = await fastifyShop(name);
      await other.getLock(name).withLock(async () => {
        const waited = shop.waited();
        const response = post(shop.port, 'wait');
        await sleepUntil(async () => (await waitersOf(name)) === 1);
        await shop.close();
        expect(await waited).to.equal('SHUTDOWN');
        await response;
      });
    });

    it('leaves a client alone with shutdownDrain: false, and refuses settings beside one', async () => {
      const app = fastify();
      await app.register(redissonPlugin, { redisson: other, shutdownDrain: false });
      await app.ready();
      await app.close();
      expect(await other.ping()).to.be.at.least(0);
      const wrong = fastify();
      const registered = Promise.resolve(wrong.register(redissonPlugin, { redisson: other, url: redisUrl() }));
      expect(await codeOf(registered)).to.equal('CONFIG');
    });
  });
});

async function fastifyShop(name: string): Promise<Shop> {
  const app: FastifyInstance = fastify();
  await app.register(redissonPlugin, { url: redisUrl() });
  const till = new Till();
  app.post('/sell', async (request) => request.withLock(name, () => till.sell(app.redisson as Redisson)));
  app.post('/wait', async (request) => {
    await till.told(request.url, (options) => request.withLock(name, () => 'acquired', options));
    return '';
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { ...till.shop(), redisson: app.redisson as Redisson, port, close: () => app.close() };
}

async function expressShop(name: string): Promise<Shop> {
  const app = express();
  const redisson = Redisson.create(redisUrl());
  const till = new Till();
  app.use(redissonMiddleware(redisson));
  app.post('/sell', async (req, res) => {
    res.send(String(await req.withLock(name, () => till.sell(redisson))));
  });
  app.post('/wait', async (req, res) => {
    await till.told(req.url, (options) => req.withLock(name, () => 'acquired', options));
    res.send('');
  });
  const server = http.createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await redisson.shutdown();
  };
  return { ...till.shop(), redisson, port, close };
}

/** What the handlers of both servers do. */
class Till {
  #inside = 0;
  #most = 0;
  #sold = 0;
  #tell: Outcome = () => undefined;

  async sell(redisson: Redisson): Promise<number> {
    this.#most = Math.max(this.#most, ++this.#inside);
    const sold = this.#sold;
    await redisson.ping();
    this.#sold = sold + 1;
    this.#inside--;
    return this.#sold;
  }

  async told(
    url: string,
    take: (options: { readonly signal?: AbortSignal; readonly waitTime?: number }) => Promise<string>,
  ): Promise<void> {
    const options = url.includes('abort')
      ? { signal: AbortSignal.abort('its own reason') }
      : url.includes('time')
        ? { waitTime: 20 }
        : {};
    this.#tell(await codeOf(take(options)));
  }

  shop(): Pick<Shop, 'most' | 'waited'> {
    return { most: () => this.#most, waited: () => new Promise((resolve) => (this.#tell = resolve)) };
  }
}

function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => value,
    (error: unknown) => {
      if (!(error instanceof Error)) return error;
      const { code, name } = error as Error & { readonly code?: unknown };
      return typeof code === 'string' ? code : name;
    },
  );
}

async function waitersOf(name: string): Promise<number> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(redisUrl());
  try {
    const [, count] = (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`)) as [string, number];
    return Number(count);
  } finally {
    redis.disconnect();
  }
}

function post(port: number, path: string): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, path: `/${path}`, method: 'POST', agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode, body }));
    });
    request.on('error', reject);
    request.end();
  });
}
