import { createRequire } from 'node:module';

const requirePeer = createRequire(__filename);

/**
 * Loads an npm package that only bench/package.json knows. The types are the caller's: the packages are installed on the
 * first run, long after this file was checked.
 */
export function loadPeer<T>(name: string): T {
  return requirePeer(name) as T;
}
