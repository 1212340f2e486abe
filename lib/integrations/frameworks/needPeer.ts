import * as fs from 'node:fs';
import * as path from 'node:path';
import { ConfigError } from '../../errors';

/**
 * Refuses a package that is too old for a subpath, when the subpath is loaded. npm does not refuse it: the package is
 * an optional peer of any version, so that the rest of ioredisson installs beside every version. In a bundle nothing
 * is checked: it contains no package to inspect.
 *
 * @param subpath - the subpath that needs the package, e.g. `ioredisson/fastify`
 * @param name - the package's name
 * @param oldest - the oldest version that is tested: `major.minor`
 * @throws ConfigError that names both versions, and what to install
 */
export function needPeer(subpath: string, name: string, oldest: string): void {
  const found = installedVersion(name);
  if (found === undefined || found.localeCompare(oldest, 'en', { numeric: true }) >= 0) return;
  throw new ConfigError(
    `${subpath} needs ${name} ${oldest} or later, but found ${found}. Install a newer one: npm i ${name}@latest. ` +
      'The rest of ioredisson works beside any version of it.',
  );
}

/** The error of a subpath whose package could not be loaded. @returns other errors unchanged */
export function missingPeer(subpath: string, name: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) return error;
  return new ConfigError(`${subpath} needs ${name}, which is not installed: npm i ${name}`, { cause: error });
}

/** @returns `undefined` if the version cannot be found */
function installedVersion(name: string): string | undefined {
  try {
    for (let folder = path.dirname(require.resolve(name)); ; folder = path.dirname(folder)) {
      const manifest = path.join(folder, 'package.json');
      // A package of both module systems has more manifests in its folders, without a name.
      if (fs.existsSync(manifest)) {
        const found = JSON.parse(fs.readFileSync(manifest, 'utf8')) as { readonly name?: string; version?: string };
        if (found.name === name) return found.version;
      }
      if (folder === path.dirname(folder)) return undefined;
    }
  } catch {
    return undefined;
  }
}
