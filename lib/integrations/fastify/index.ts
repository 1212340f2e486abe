/**
 * The plugin for Fastify.
 * @module ioredisson/fastify
 */

import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { RedissonClient } from '../../api';
import { validateName } from '../../config/validateName';
import { ConfigError } from '../../errors';
import { hostedClient, type HostOptions } from '../frameworks/hostedClient';
import { needPeer } from '../frameworks/needPeer';
import { requestLock, type RequestLock } from '../frameworks/requestLock';
import { pluginLibrary } from './pluginLibrary';

needPeer('ioredisson/fastify', 'fastify', '5.0');

export type { HostOptions } from '../frameworks/hostedClient';
export type { RequestLock } from '../frameworks/requestLock';

/** Options of {@link redissonPlugin}: `redisson`, or where Redis is, and `shutdownDrain`. */
export type RedissonPluginOptions = HostOptions & {
  /**
   * Of a second client: the name of its property, `fastify.audit`. `request.withLock` stays that of the plugin without
   * this option, and takes locks of every client: `request.withLock(fastify.audit.getLock('a'), fn)`.
   * @default `redisson`
   */
  readonly decorateAs?: string | undefined;
};

declare module 'fastify' {
  interface FastifyInstance {
    /** The client of `redissonPlugin`. */
    redisson: RedissonClient;
  }
  interface FastifyRequest {
    /**
     * Like `redisson.getLock(name).withLock(fn, options)`, or `withLock` of a given lock. The wait is aborted when
     * the client disconnects.
     */
    withLock: RequestLock;
  }
}

/**
 * A plugin of Fastify 5: `fastify.redisson` is a client, and `request.withLock(nameOrLock, fn, options?)` runs `fn`
 * under a lock. The wait for the lock is aborted when the client disconnects (HTTP/1 and HTTP/2). If the lock was not
 * acquired, Fastify answers 409 if others hold it (`LockTimeoutError` with `reason` `held`), or 503 (`ShutdownError`,
 * `ConnectionError`, and if Redis refused or did not answer).
 *
 * ```ts
 * await app.register(redissonPlugin, { url: 'redis://127.0.0.1:6379' });
 * app.post('/checkout', (request) => request.withLock('stock', () => sell()));
 * ```
 *
 * When Fastify closes, waiters reject with `ShutdownError`. The shutdown then waits up to `shutdownDrain` ms (10 000)
 * for held locks to be released, and closes the client.
 */
export const redissonPlugin: FastifyPluginAsync<RedissonPluginOptions> = pluginLibrary().fastifyPlugin(
  registerRedisson,
  {
    fastify: '5.x',
    name: 'ioredisson',
  },
);

async function registerRedisson(fastify: FastifyInstance, options: RedissonPluginOptions): Promise<void> {
  const { decorateAs = 'redisson', ...hosted } = options;
  validateName(decorateAs, 'property (decorateAs)');
  const { redisson, shutdown } = hostedClient(hosted);
  const isFirst = decorateAs === 'redisson';
  if (isFirst) {
    fastify.addHook('onRequest', (request, reply, done) => {
      request.withLock = requestLock(redisson, reply.raw);
      done();
    });
  }
  // Before the server waits for its requests: requests that wait for a lock would delay it.
  fastify.addHook('preClose', (done) => {
    shutdown().catch(() => undefined);
    done();
  });
  fastify.addHook('onClose', () => shutdown());
  // Behind the hooks: a name that is taken makes these throw, and the client must end with the application then, too.
  if (fastify.hasDecorator(decorateAs)) {
    const why = `fastify.${decorateAs} is there already. For another Redis, register the plugin with a name of its own`;
    throw new ConfigError(`${why}: { decorateAs: 'audit', url }`);
  }
  fastify.decorate(decorateAs, redisson);
  // So that all requests have the same shape from the beginning: the hook sets the value.
  if (isFirst) fastify.decorateRequest('withLock');
}
