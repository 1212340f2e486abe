import { type DynamicModule, type FactoryProvider, Inject, type ModuleMetadata, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { RedissonClient } from '../../api';
import { validateName } from '../../config/validateName';
import { ConfigError } from '../../errors';
import { hostedClient, type HostedClient, type HostOptions } from '../frameworks/hostedClient';
import { Redisson } from '../../Redisson';
import { RedissonHealthIndicator } from './RedissonHealthIndicator';

/** The token of the client: `@Inject(REDISSON)`, `moduleRef.get(REDISSON)`, `overrideProvider(REDISSON)`. */
export const REDISSON = Symbol.for('ioredisson:nestjs:client');

/** The token of a named client, for `moduleRef.get` and `overrideProvider`. @param name - none: {@link REDISSON} */
export function redissonToken(name?: string): symbol {
  if (name === undefined) return REDISSON;
  validateName(name, 'client');
  return Symbol.for(`ioredisson:nestjs:client:${name}`);
}

/**
 * Injects the client of `RedissonModule`: `constructor(@InjectRedisson() redisson: RedissonClient)`.
 *
 * @param name - that of `forRoot({ name })`. Default: the client without a name
 * @throws ConfigError for an empty name
 */
export function InjectRedisson(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(redissonToken(name));
}

/** Options of `RedissonModule.forRoot`: where Redis is, or `redisson`, and `shutdownDrain`. */
export type RedissonModuleOptions = HostOptions & {
  /**
   * Of an application with several clients: `@InjectRedisson(name)`, `@WithLock(key, { client: name })`.
   * @default none: the one client without a name
   */
  readonly name?: string | undefined;
};

/** Options of `RedissonModule.forRootAsync`. */
export interface RedissonModuleAsyncOptions {
  /** As in {@link RedissonModuleOptions}. */
  readonly name?: string | undefined;
  /** Modules whose providers `useFactory` needs. */
  readonly imports?: ModuleMetadata['imports'];
  /** Providers that are passed to `useFactory`. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as that of a provider of NestJS
  readonly useFactory: (...args: any[]) => HostOptions | Promise<HostOptions>;
}

const OPTIONS = Symbol('options of RedissonModule');
const HOSTED = Symbol('client of RedissonModule');

/**
 * The client for the whole application: `imports: [RedissonModule.forRoot({ url })]`.
 *
 * It is global. It provides the client (`@InjectRedisson()`, or by its class `Redisson`) and
 * {@link RedissonHealthIndicator}. Further clients have a name: `forRoot({ name: 'audit', url })` provides one for
 * `@InjectRedisson('audit')` alone. When the application closes, waiters reject with `ShutdownError`. The shutdown then
 * waits up to `shutdownDrain` ms for held locks to be released, and closes the client. For signals, such as SIGTERM,
 * call `app.enableShutdownHooks()`. A client of `ioredisson/testing`, or one that a test substitutes with
 * `overrideProvider(REDISSON)`, is not shut down.
 */
export class RedissonModule {
  /**
   * @param options - a URL, or the options; without them: `REDIS_URL`, else `redis://127.0.0.1:6379`
   * @throws ConfigError for an empty name
   * @throws ConfigError, RangeError when the application starts, for unknown or invalid options, and if another module
   *   has a client of that name, or none of them has a name
   */
  static forRoot(options?: RedissonModuleOptions | string | URL): DynamicModule {
    if (typeof options !== 'object' || options === null || options instanceof URL || !('name' in options))
      return moduleWith(undefined, { provide: OPTIONS, useValue: options === undefined ? {} : options });
    const { name, ...others } = options;
    return moduleWith(name, { provide: OPTIONS, useValue: others });
  }

  /** Like {@link forRoot}, with options that are made when the application starts. */
  static forRootAsync({ name, imports, inject, useFactory }: RedissonModuleAsyncOptions): DynamicModule {
    return { ...moduleWith(name, { provide: OPTIONS, useFactory, inject: inject ?? [] }), imports: imports ?? [] };
  }
}

function moduleWith(name: string | undefined, options: Provider): DynamicModule {
  const token = redissonToken(name);
  const providers: Provider[] = [
    options,
    { provide: HOSTED, useFactory: () => new ClientOfApplication() },
    {
      // Only this provider makes a client: `overrideProvider(REDISSON)` replaces it, and then no client is made.
      provide: token,
      useFactory: (given: HostOptions | string | URL, hosted: ClientOfApplication, modules: ModulesContainer) => {
        refuseSecond(name, token, modules);
        return hosted.open(given);
      },
      inject: [OPTIONS, HOSTED, ModulesContainer],
    },
  ];
  const module = { module: RedissonModule, global: true };
  if (name !== undefined) return { ...module, providers, exports: [token] };
  return {
    ...module,
    providers: [
      ...providers,
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

/** @throws ConfigError where several modules provide the client: NestJS would inject one of them, and say nothing */
function refuseSecond(name: string | undefined, token: symbol, modules: ModulesContainer): void {
  const found = [...modules.values()].filter((one) => one.metatype === RedissonModule && one.providers.has(token));
  if (found.length < 2) return;
  const which = name === undefined ? 'without a name' : `with the name '${name}'`;
  throw new ConfigError(
    `RedissonModule is imported ${found.length} times ${which}. Import it once, in the root module; for another Redis ` +
      "give it a name: RedissonModule.forRoot({ name: 'audit', url }), and inject that by @InjectRedisson('audit')",
  );
}

/** Shuts down the client with the application, if it made one. NestJS calls these hooks on what a provider returns. */
class ClientOfApplication {
  #hosted: HostedClient | undefined;

  open(options: HostOptions | string | URL): RedissonClient {
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
