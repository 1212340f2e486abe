/**
 * A client in memory, for tests of code that uses locks: no Redis, no socket, fake timers.
 * @module ioredisson/testing
 */

export { createTestRedisson } from './createTestRedisson';
export type { TestHolder, TestRedisson, TestRedissonOptions } from './TestRedisson';
