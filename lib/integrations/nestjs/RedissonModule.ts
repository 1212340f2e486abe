import { type DynamicModule, type FactoryProvider, Inject, type ModuleMetadata, type Provider } from '@nestjs/common';
import type { RedissonClient } from '../../api';
import { hostedClient, type HostedClient, type HostOptions } from '../frameworks/hostedClient';
import { Redisson } from '../../Redisson';
import { RedissonHealthIndicator } from './RedissonHealthIndicator';

/** The token of the client: `@Inject(REDISSON)`, `moduleRef.get(REDISSON)`, `overrideProvider(REDISSON)`. */
export const REDISSON = Symbol.for('ioredisson:nestjs:client');

/** Injects the client of `RedissonModule`: `constructor(@InjectRedisson() redisson: RedissonClient)`. */
export function InjectRedisson(): PropertyDecorator & ParameterDecorator {
  return Inject(REDISSON);
}

/** Options of `RedissonModule.forRoot`: where Redis is, or `redisson`, and `shutdownDrain`. */
export type RedissonModuleOptions = HostOptions;

/** Options of `RedissonModule.forRootAsync`. */
export interface RedissonModuleAsyncOptions {
  /** Modules whose providers `useFactory` needs. */
  readonly imports?: ModuleMetadata['imports'];
  /** Providers that are passed to `useFactory`. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as that of a provider of NestJS
  readonly useFactory: (...args: any[]) => RedissonModuleOptions | Promise<RedissonModuleOptions>;
}

const OPTIONS = Symbol('options of RedissonModule');
const HOSTED = Symbol('client of RedissonModule');

/**
 * The client for the whole application: `imports: [RedissonModule.forRoot({ url })]`.
 *
 * It is global. It provides the client (`@InjectRedisson()`, or by its class `Redisson`) and
 * {@link RedissonHealthIndicator}. When the application closes, waiters reject with `ShutdownError`. The shutdown then
 * waits up to `shutdownDrain` ms for held locks to be released, and closes the client. For signals, such as SIGTERM,
 * call `app.enableShutdownHooks()`. A client of `ioredisson/testing`, or one that a test substitutes with
 * `overrideProvider(REDISSON)`, is not shut down.
 */
export class RedissonModule {
  /**
   * @param options - a URL, or the options; without them: `REDIS_URL`, else `redis://127.0.0.1:6379`
   * @throws ConfigError, RangeError when the application starts, for unknown or invalid options
   */
  static forRoot(options?: RedissonModuleOptions | string | URL): DynamicModule {
    return moduleWith({ provide: OPTIONS, useValue: options === undefined ? {} : options });
  }

  /** Like {@link forRoot}, with options that are made when the application starts. */
  static forRootAsync({ imports, inject, useFactory }: RedissonModuleAsyncOptions): DynamicModule {
    return { ...moduleWith({ provide: OPTIONS, useFactory, inject: inject ?? [] }), imports: imports ?? [] };
  }
}

function moduleWith(options: Provider): DynamicModule {
  return {
    module: RedissonModule,
    global: true,
    providers: [
      options,
      { provide: HOSTED, useFactory: () => new ClientOfApplication() },
      {
        // Only this provider makes a client: `overrideProvider(REDISSON)` replaces it, and then no client is made.
        provide: REDISSON,
        useFactory: (given: RedissonModuleOptions | string | URL, hosted: ClientOfApplication) => hosted.open(given),
        inject: [OPTIONS, HOSTED],
      },
      { provide: Redisson, useExisting: REDISSON },
      {
        provide: RedissonHealthIndicator,
        useFactory: (redisson: RedissonClient) => new RedissonHealthIndicator(redisson),
        inject: [REDISSON],
      },
    ],
    exports: [REDISSON, Redisson, RedissonHealthIndicator],
  };
}

/** Shuts down the client with the application, if it made one. NestJS calls these hooks on what a provider returns. */
class ClientOfApplication {
  #hosted: HostedClient | undefined;

  open(options: RedissonModuleOptions | string | URL): RedissonClient {
    // A factory that returns nothing is refused: nothing falls back to another server.
    this.#hosted = hostedClient(options ?? (null as never));
    return this.#hosted.redisson;
  }

  /** Before the server waits for its requests: requests that wait for a lock would delay it. */
  beforeApplicationShutdown(): void {
    this.#hosted?.shutdown().catch(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#hosted?.shutdown();
  }
}
