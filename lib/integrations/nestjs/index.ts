/**
 * The module, decorators and health indicator for NestJS.
 * @module ioredisson/nestjs
 */

import { needPeer } from '../frameworks/needPeer';

needPeer('ioredisson/nestjs', '@nestjs/common', '10.0');

export {
  type RedissonHealth,
  RedissonHealthError,
  RedissonHealthIndicator,
  type RedissonHealthOptions,
} from './RedissonHealthIndicator';
export {
  InjectRedisson,
  REDISSON,
  RedissonModule,
  type RedissonModuleAsyncOptions,
  type RedissonModuleOptions,
} from './RedissonModule';
export { WithLock, type WithLockKey, type WithLockOptions } from './withLock';
