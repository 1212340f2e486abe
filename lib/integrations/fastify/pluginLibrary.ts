import type * as Library from 'fastify-plugin';
import { ConfigError } from '../../errors';

/**
 * fastify-plugin, which Fastify does not include. In the build for bundlers, `tools/buildLibrary.ts` replaces this by
 * an import.
 * @throws ConfigError if it is not installed
 */
export function pluginLibrary(): typeof Library {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require('fastify-plugin') as typeof Library;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'MODULE_NOT_FOUND' || !message.includes("'fastify-plugin'")) throw error;
    const what = 'ioredisson/fastify needs fastify-plugin, which is not installed: npm i fastify-plugin';
    throw new ConfigError(what, { cause: error });
  }
}
