/**
 * The package itself: the client {@link Redisson}, its settings, its errors, and the types of all locks and
 * synchronizers.
 * @module ioredisson
 */

export { Redisson } from './Redisson';
export { Config } from './config/builder/Config';
export { DisLock, type DisLockKey, type DisLockOptions } from './integrations/decorators/disLock';
export { ConstantBackOff, ExponentialBackOff } from './util/backOff';
export { TimeUnit } from './util/TimeUnit';
export * from './errors';
export type * from './api';
export type * from './config/Credentials';
export { type NameMapper, PrefixNameMapper } from './config/NameMapper';
export type * from './config/RedissonOptions';
export type { Secret } from './config/Secret';
export type * from './config/Settings';
export type * from './config/Topology';
export type * from './config/builder/serverConfigs';
