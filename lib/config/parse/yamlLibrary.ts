import type * as Yaml from './yaml';

/**
 * The YAML library, loaded at the first call: it takes as long to load as ioredis, and most clients do not need it. In
 * the build for bundlers, `tools/buildLibrary.ts` replaces this by an import.
 */
export function yamlLibrary(): typeof Yaml {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require('./yaml') as typeof Yaml;
}
