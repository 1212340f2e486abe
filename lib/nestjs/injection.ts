import { Inject } from '@nestjs/common';

/** The token of the client: `@Inject(REDISSON)`, `moduleRef.get(REDISSON)`, `overrideProvider(REDISSON)`. */
export const REDISSON = Symbol.for('ioredisson:nestjs:client');

/** Injects the client of `RedissonModule`: `constructor(@InjectRedisson() redisson: RedissonClient)`. */
export function InjectRedisson(): PropertyDecorator & ParameterDecorator {
  return Inject(REDISSON);
}
