import { expect } from 'chai';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import { Redis } from 'ioredis';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { LockTimeoutError, Redisson, type RedissonClient } from '../../lib';
import { redissonMiddleware, type RequestLock } from '../../lib/integrations/express';
import { redissonPlugin } from '../../lib/integrations/fastify';
import { createTestRedisson } from '../../lib/testing';
import { monotonicNow, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';

/** What the handler of a request has come to: the code or name of its error, or what it resolved to. */
type Outcome = (outcome: unknown) => void;

/** A server whose `POST /sell` sells under the lock of `name`, and whose `POST /wait` tells how its wait ended. */
interface Shop {
  readonly redisson: Redisson;
  readonly port: number;
  readonly send: Send;
  /** How many sold at once at most. */
  readonly most: () => number;
  /** The end of the next `POST /wait`. */
  readonly waited: () => Promise<unknown>;
  /** Resolves when the next `POST /wait?late` is there; its handler waits until its client has gone. */
  readonly asked: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A request that is on its way. */
interface Sent {
  readonly answer: Promise<{ readonly status: number | undefined; readonly body: string }>;
  /** The client goes away: it resets its stream, or closes its connection. */
  abort(how: 'stream' | 'connection'): void;
}

/** Sends a POST without a body. */
type Send = (port: number, path: string) => Sent;

const servers: Readonly<Record<string, (name: string) => Promise<Shop>>> = {
  'ioredisson/fastify': (name) => fastifyShop(name, false),
  'ioredisson/express': expressShop,
  'ioredisson/fastify, HTTP/2': (name) => fastifyShop(name, true),
  'ioredisson/express, connect-style, HTTP/2': connectShop,
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
        const sold = await Promise.all(Array.from({ length: 8 }, () => shop.send(shop.port, 'sell').answer));
        expect(sold.map(({ status }) => status)).to.deep.equal(Array.from({ length: 8 }, () => 200));
        expect(sold.map(({ body }) => Number(body)).sort()).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
        expect(shop.most()).to.equal(1);
      });

      for (const how of ['stream', 'connection'] as const) {
        it(`D2: a client that goes (${how}) while its request waits ends the wait, and leaves nothing behind`, async () => {
          await other.getLock(name).withLock(async () => {
            const waited = shop.waited();
            const sent = shop.send(shop.port, 'wait');
            sent.answer.catch(() => undefined);
            await sleepUntil(async () => (await waitersOf(name)) === 1);
            sent.abort(how);
            expect(await waited).to.equal('AbortError');
            await sleepUntil(async () => (await waitersOf(name)) === 0);
          });
          expect(await other.getLock(name).isLocked()).to.equal(false);
        });

        it(`D2: a client that has gone (${how}) before its handler asks for the lock does not get it`, async () => {
          const waited = shop.waited();
          const sent = shop.send(shop.port, 'wait?late');
          sent.answer.catch(() => undefined);
          await shop.asked();
          sent.abort(how);
          expect(await waited).to.equal('AbortError');
        });
      }

      it('a handler that has answered already still gets its lock', async () => {
        const waited = shop.waited();
        await other.getLock(name).withLock(async () => {
          expect((await shop.send(shop.port, 'answer').answer).status).to.equal(202);
        });
        expect(await waited).to.equal('acquired');
      });

      it('a signal of the caller ends the wait, too', async () => {
        await other.getLock(name).withLock(async () => {
          const waited = shop.waited();
          await shop.send(shop.port, 'wait?abort').answer;
          expect(await waited).to.equal('its own reason');
        });
      });

      it('a wait that is too long is a LockTimeoutError', async () => {
        await other.getLock(name).withLock(async () => {
          const waited = shop.waited();
          await shop.send(shop.port, 'wait?time').answer;
          expect(await waited).to.equal('LOCK_TIMEOUT');
        });
      });

      it('takes a lock instead of a name', async () => {
        const readers = [1, 2].map(() => shop.send(shop.port, 'read').answer);
        expect((await Promise.all(readers)).map(({ status }) => status)).to.deep.equal([200, 200]);
        expect(shop.most()).to.equal(2);
      });

      it('D9: answers 409 where others hold the lock, and 503 where it shuts down', async () => {
        await other.getLock(name).withLock(async () => {
          expect((await shop.send(shop.port, 'quick').answer).status).to.equal(409);
          const waiting = shop.send(shop.port, 'sell').answer;
          await sleepUntil(async () => (await waitersOf(name)) === 1);
          await shop.redisson.shutdown();
          expect((await waiting).status).to.equal(503);
        });
        expect((await shop.send(shop.port, 'sell').answer).status).to.equal(503);
      });

      it('answers 503, not 409, where nobody holds the lock and Redis does not answer', async () => {
        const admin = trackClient(new Redis(redisUrl()));
        expect((await shop.send(shop.port, 'soon').answer).status).to.equal(200);
        // Writes only, so that the pause can be ended.
        await admin.client('PAUSE', 20_000, 'WRITE');
        const { status } = await shop.send(shop.port, 'soon').answer;
        await admin.client('UNPAUSE');
        expect(status).to.equal(503);
      });

      it('D9: errors of the work itself keep their status', async () => {
        expect((await shop.send(shop.port, 'fail').answer).status).to.equal(500);
      });
    });
  }

  it('bad options of withLock are refused at the call: nothing runs, and the response keeps no listener', async () => {
    const redisson = createTestRedisson();
    const app = express();
    app.use(redissonMiddleware(redisson));
    const refused: unknown[] = [];
    app.post('/', async (request, response) => {
      const bad = [
        { signal: {} },
        { signal: null },
        { signal: 5 },
        { waitTime: NaN },
        { leaseTime: '5' },
        { atLeast: -1 },
      ];
      const before = response.listenerCount('close');
      for (const options of bad as object[]) {
        refused.push(await codeOf(request.withLock('a', () => 'ran', options)));
      }
      refused.push(await codeOf(request.withLock('a', 5 as never)));
      refused.push(await codeOf(request.withLock('a', () => 'ran', null as never)));
      refused.push(await codeOf(request.withLock({} as never, () => 'ran')));
      expect(response.listenerCount('close')).to.equal(before);
      response.status(204).end();
    });
    const server = app.listen(0, '127.0.0.1');
    trackClient({ close: () => new Promise((resolve) => server.close(resolve)) });
    await new Promise((resolve) => server.once('listening', resolve));
    expect((await sendOne((server.address() as AddressInfo).port, '').answer).status).to.equal(204);
    const [CONFIG, range] = ['CONFIG', 'RangeError'];
    expect(refused).to.deep.equal([CONFIG, CONFIG, CONFIG, range, range, range, 'TypeError', CONFIG, CONFIG]);
    expect(redisson.holders('a')).to.deep.equal([]);
    await redisson.shutdown();
  });

  describe('redissonPlugin', () => {
    it('refuses a shutdownDrain that is no time when it is registered', async () => {
      for (const shutdownDrain of [-1, NaN, '5s'] as number[]) {
        const registered = Promise.resolve(fastify().register(redissonPlugin, { url: redisUrl(), shutdownDrain }));
        expect(await codeOf(registered), String(shutdownDrain)).to.equal('RangeError');
      }
    });

    it('refuses what is no client, and falls back to no other server', async () => {
      for (const redisson of [null, 5, 'redis://h'] as never[]) {
        const registered = Promise.resolve(fastify().register(redissonPlugin, { redisson }));
        expect(await codeOf(registered), String(redisson)).to.equal('CONFIG');
      }
    });

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
      const shop = await fastifyShop(name, false);
      await other.getLock(name).withLock(async () => {
        const waited = shop.waited();
        const response = shop.send(shop.port, 'wait').answer;
        await sleepUntil(async () => (await waitersOf(name)) === 1);
        await shop.close();
        expect(await waited).to.equal('SHUTDOWN');
        await response;
      });
    });

    it('ends its client with an application that could not start, since a name was taken', async () => {
      const clientName = uniqueName();
      const app = fastify();
      app.register(redissonPlugin, { redisson: other, shutdownDrain: false });
      app.register(redissonPlugin, { url: redisUrl(), clientName });
      expect(await codeOf(Promise.resolve(app.ready()))).to.equal('CONFIG');
      await app.close();
      const admin = trackClient(new Redis(redisUrl()));
      await sleepUntil(async () => !String(await admin.client('LIST')).includes(clientName));
    });

    it("F10: a second plugin has a property of its own; request.withLock is the first one's, and takes its locks", async () => {
      const [first, second] = [createTestRedisson(), createTestRedisson()];
      const app = fastify();
      await app.register(redissonPlugin, { decorateAs: 'audit', redisson: second });
      await app.register(redissonPlugin, { redisson: first });
      const { audit } = app as unknown as { audit: RedissonClient };
      const counted = (): number[] => [first, second].map((redisson) => redisson.holders('a').length);
      app.get('/first', (request) => request.withLock('a', counted));
      app.get('/second', (request) => request.withLock(audit.getLock('a'), counted));
      expect(app.redisson).to.equal(first);
      expect((await app.inject('/first')).json()).to.deep.equal([1, 0]);
      expect((await app.inject('/second')).json()).to.deep.equal([0, 1]);
      await app.close();
    });

    it('F10: the same name twice is a ConfigError that says what to do', async () => {
      for (const options of [{}, { decorateAs: 'audit' }]) {
        const app = fastify();
        await app.register(redissonPlugin, { redisson: other, shutdownDrain: false, ...options });
        const second = Promise.resolve(
          app.register(redissonPlugin, { redisson: other, shutdownDrain: false, ...options }),
        );
        expect(await second.catch((error: Error) => error.message)).to.include("{ decorateAs: 'audit', url }");
        await app.close();
      }
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

async function fastifyShop(name: string, two: boolean): Promise<Shop> {
  const app = (two ? fastify({ http2: true, forceCloseConnections: true }) : fastify()) as unknown as FastifyInstance;
  await app.register(redissonPlugin, { url: redisUrl() });
  const till = new Till(app.redisson as Redisson, name);
  for (const path of PATHS) {
    app.post(`/${path}`, async (request, reply) => {
      const answer = await till.serve(path, request.url, request, () => void reply.code(202).send(''), reply.raw);
      return reply.sent ? reply : answer;
    });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { ...till.shop(), send: two ? sendTwo : sendOne, port, close: () => app.close() };
}

async function expressShop(name: string): Promise<Shop> {
  const app = express();
  const redisson = Redisson.create(redisUrl());
  const till = new Till(redisson, name);
  app.set('env', 'test');
  app.use(redissonMiddleware(redisson));
  for (const path of PATHS) {
    app.post(`/${path}`, async (req, res) => {
      const answer = await till.serve(path, req.url, req, () => void res.status(202).send(''), res);
      if (!res.headersSent) res.send(answer);
    });
  }
  const server = http.createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await redisson.shutdown();
  };
  return { ...till.shop(), send: sendOne, port, close };
}

/** What frameworks of connect's style do: `(request, response, next)` of a server of HTTP/2. */
async function connectShop(name: string): Promise<Shop> {
  const redisson = Redisson.create(redisUrl());
  const till = new Till(redisson, name);
  const middleware = redissonMiddleware(redisson);
  const sessions = new Set<http2.Http2Session>();
  const server = http2.createServer((req, res) => {
    middleware(req, res, () => {
      const path = PATHS.find((one) => req.url.startsWith(`/${one}`))!;
      const request = req as unknown as { withLock: RequestLock };
      till
        .serve(path, req.url, request, () => void res.writeHead(202).end(), res)
        .then(
          (answer) => res.writableEnded || res.end(answer),
          (error: { statusCode?: number }) => res.stream.destroyed || res.writeHead(error.statusCode ?? 500).end(),
        );
    });
  });
  server.on('session', (session) => void sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
    await redisson.shutdown();
  };
  return { ...till.shop(), send: sendTwo, port, close };
}

/** What the servers serve. */
const PATHS = ['sell', 'wait', 'answer', 'read', 'quick', 'soon', 'fail'] as const;

/** What the handlers of all servers do. */
class Till {
  readonly #redisson: Redisson;
  readonly #name: string;
  #inside = 0;
  #most = 0;
  #sold = 0;
  #tell: Outcome = () => undefined;
  #asked: () => void = () => undefined;

  constructor(redisson: Redisson, name: string) {
    this.#redisson = redisson;
    this.#name = name;
  }

  async serve(
    path: (typeof PATHS)[number],
    url: string,
    request: { readonly withLock: RequestLock },
    answer: () => void,
    response: { once(event: 'close', listener: () => void): unknown },
  ): Promise<string> {
    const name = this.#name;
    switch (path) {
      case 'sell':
        return String(await request.withLock(name, () => this.#sell()));
      case 'wait':
        await this.#told(url, response, (options) => request.withLock(name, () => 'acquired', options));
        return '';
      case 'answer':
        answer();
        this.#tell(await codeOf(request.withLock(name, () => 'acquired')));
        return '';
      case 'read':
        return request.withLock(this.#redisson.getReadWriteLock(`${name}:read`).readLock(), () => this.#read());
      case 'quick':
        return request.withLock(name, () => 'acquired', { waitTime: 0 });
      case 'soon':
        return request.withLock(name, () => 'acquired', { waitTime: 200 });
      case 'fail':
        // Its own time-out, of another lock.
        return request.withLock(name, () => Promise.reject(new LockTimeoutError('another', 1)));
    }
  }

  /** Ends when two are inside. */
  async #read(): Promise<string> {
    this.#most = Math.max(this.#most, ++this.#inside);
    await sleepUntil(() => this.#most === 2);
    this.#inside--;
    return '';
  }

  async #sell(): Promise<number> {
    this.#most = Math.max(this.#most, ++this.#inside);
    const sold = this.#sold;
    await this.#redisson.ping();
    this.#sold = sold + 1;
    this.#inside--;
    return this.#sold;
  }

  async #told(
    url: string,
    response: { once(event: 'close', listener: () => void): unknown },
    take: (options: { readonly signal?: AbortSignal; readonly waitTime?: number }) => Promise<string>,
  ): Promise<void> {
    if (url.includes('late')) {
      const gone = new Promise<void>((resolve) => response.once('close', resolve));
      this.#asked();
      await gone;
    }
    const options = url.includes('abort')
      ? { signal: AbortSignal.abort('its own reason') }
      : url.includes('time')
        ? { waitTime: 20 }
        : {};
    this.#tell(await codeOf(take(options)));
  }

  shop(): Pick<Shop, 'redisson' | 'most' | 'waited' | 'asked'> {
    return {
      redisson: this.#redisson,
      most: () => this.#most,
      waited: () => new Promise((resolve) => (this.#tell = resolve)),
      asked: () => new Promise((resolve) => (this.#asked = resolve)),
    };
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
  const redis = new Redis(redisUrl());
  try {
    const [, count] = (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`)) as [string, number];
    return Number(count);
  } finally {
    redis.disconnect();
  }
}

function sendOne(port: number, path: string): Sent {
  const request = http.request({ port, path: `/${path}`, method: 'POST', agent: false });
  const answer = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode, body }));
    });
  });
  request.end();
  return { answer, abort: () => request.destroy() };
}

function sendTwo(port: number, path: string): Sent {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  const stream = session.request({ ':path': `/${path}`, ':method': 'POST' });
  const answer = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    let status: number | undefined;
    let body = '';
    stream.on('error', reject);
    stream.on('response', (headers) => (status = headers[':status']));
    stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
    stream.on('end', () => resolve({ status, body }));
    stream.on('close', () => session.close());
  });
  stream.end();
  return {
    answer,
    abort: (how) => (how === 'stream' ? stream.close(http2.constants.NGHTTP2_CANCEL) : session.destroy()),
  };
}
