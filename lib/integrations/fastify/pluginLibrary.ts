import type * as Library from 'fastify-plugin';
import { missingPeer } from '../frameworks/needPeer';

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
    throw missingPeer('ioredisson/fastify', 'fastify-plugin', error);
  }
}
