import type * as Yaml from 'yaml';

/**
 * The YAML library, loaded by the first who asks: it takes as long to load as ioredis, and most clients need none.
 * `tools/buildLibrary.ts` puts an import in place of this in the build for bundlers.
 */
export function yamlLibrary(): typeof Yaml {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require('yaml') as typeof Yaml;
}
