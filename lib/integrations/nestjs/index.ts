/**
 * The module, decorators and health indicator for NestJS.
 * @module ioredisson/nestjs
 */

import { needPeer } from '../frameworks/needPeer';

needPeer('ioredisson/nestjs', '@nestjs/common', '10.0');

export * from './RedissonHealthIndicator';
export * from './RedissonModule';
export * from './withLock';
