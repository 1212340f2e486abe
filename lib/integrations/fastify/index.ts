/**
 * The plugin for Fastify.
 * @module ioredisson/fastify
 */

import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { RedissonClient } from '../../api';
import { hostedClient, type HostOptions } from '../frameworks/hostedClient';
import { needPeer } from '../frameworks/needPeer';
import { requestLock, type RequestLock } from '../frameworks/requestLock';
import { pluginLibrary } from './pluginLibrary';

needPeer('ioredisson/fastify', 'fastify', '5.0');

export type { HostOptions } from '../frameworks/hostedClient';
export type { RequestLock } from '../frameworks/requestLock';

/** Options of {@link redissonPlugin}: `redisson`, or where Redis is, and `shutdownDrain`. */
export type RedissonPluginOptions = HostOptions;

declare module 'fastify' {
  interface FastifyInstance {
    /** The client of `redissonPlugin`. */
    redisson: RedissonClient;
  }
  interface FastifyRequest {
    /**
     * As `redisson.getLock(name).withLock(fn, options)`, or as `withLock` of a lock; the wait is aborted when the client
     * disconnects.
     */
    withLock: RequestLock;
  }
}

/**
 * A plugin of Fastify 5: `fastify.redisson` is a client, and `request.withLock(nameOrLock, fn, options?)` runs `fn` under
 * a lock. The wait for the lock is aborted when the client disconnects (HTTP/1 and HTTP/2). Where the lock was not
 * acquired, Fastify answers 409 where others hold it (`LockTimeoutError` with `reason` `held`), or 503 (`ShutdownError`,
 * `ConnectionError`, and where Redis refused or did not answer).
 *
 * ```ts
 * await app.register(redissonPlugin, { url: 'redis://127.0.0.1:6379' });
 * app.post('/checkout', (request) => request.withLock('stock', () => sell()));
 * ```
 *
 * When Fastify closes, waiters reject with `ShutdownError`, and locks that are held may be given back for
 * `shutdownDrain` ms (10 000); then the client closes.
 */
export const redissonPlugin: FastifyPluginAsync<RedissonPluginOptions> = pluginLibrary().fastifyPlugin(
  registerRedisson,
  {
    fastify: '5.x',
    name: 'ioredisson',
  },
);

async function registerRedisson(fastify: FastifyInstance, options: RedissonPluginOptions): Promise<void> {
  const { redisson, shutdown } = hostedClient(options);
  fastify.decorate('redisson', redisson);
  // So that requests have their shape from the beginning: it is set below.
  fastify.decorateRequest('withLock');
  fastify.addHook('onRequest', (request, reply, done) => {
    request.withLock = requestLock(redisson, reply.raw);
    done();
  });
  // Before the server waits for its requests: those that wait for a lock would keep it waiting.
  let ended: Promise<void> | undefined;
  fastify.addHook('preClose', (done) => {
    ended = shutdown();
    ended.catch(() => undefined);
    done();
  });
  fastify.addHook('onClose', async () => {
    await (ended ?? shutdown());
  });
}
