export type * from './BackOff';
export type * from './events';
export type * from './options';
export type * from './RedissonClient';
export type * from './RLock';
export type * from './RObject';
export type * from './synchronizers';
