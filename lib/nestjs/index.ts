/**
 * The module, decorators and health indicator for NestJS.
 * @module ioredisson/nestjs
 */

export { InjectRedisson, REDISSON } from './injection';
export { type RedissonHealth, RedissonHealthError, RedissonHealthIndicator } from './RedissonHealthIndicator';
export { RedissonModule, type RedissonModuleAsyncOptions, type RedissonModuleOptions } from './RedissonModule';
export { WithLock, type WithLockKey, type WithLockOptions } from './withLock';
