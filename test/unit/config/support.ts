import { expect } from 'chai';
import * as path from 'node:path';
import * as sinon from 'sinon';
import type { RedissonOptions } from '../../../lib/config/RedissonOptions';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { ConfigError } from '../../../lib/errors';

/** `resolveConfig` of anything, in an environment without variables unless some are given. */
export function resolve(input?: unknown, env: Record<string, string> = {}): ReturnType<typeof resolveConfig> {
  return resolveConfig(input as RedissonOptions, env);
}

/** What passes for a client of ioredis as far as the configuration looks at it. */
export function fakeClient(options: object = {}): RedissonOptions['client'] {
  return { duplicate: () => undefined, options: { password: 'geheim', ...options } };
}

/** @param name - a file next to these tests @returns its path */
export function fixture(name: string): string {
  return path.join(__dirname, 'fixtures', name);
}

/**
 * @param run - must throw a `ConfigError`
 * @param message - what its message must match
 * @returns the error
 */
export function expectConfigError(run: () => unknown, message: RegExp | string): ConfigError {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).to.be.instanceOf(ConfigError);
  if (typeof message === 'string') expect((thrown as Error).message).to.equal(message);
  else expect((thrown as Error).message).to.match(message);
  return thrown as ConfigError;
}

/**
 * Runs with other environment variables.
 *
 * @param variables - what to set; `undefined` unsets
 * @param run - what to run
 */
export function withEnvironment<T>(variables: Record<string, string | undefined>, run: () => T): T {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  const apply = (entries: Iterable<readonly [string, string | undefined]>): void => {
    for (const [name, value] of entries) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  apply(Object.entries(variables));
  try {
    return run();
  } finally {
    apply(before);
  }
}

/** @returns the texts of the process warnings from here on; kept from being printed until sinon is restored */
export function captureWarnings(): string[] {
  const texts: string[] = [];
  sinon.stub(process, 'emitWarning').callsFake((warning: string | Error) => void texts.push(String(warning)));
  return texts;
}
