import * as fs from 'node:fs';
import * as path from 'node:path';
import { ConfigError } from '../../errors';

/**
 * Refuses a package that is too old for a subpath, when that is loaded. npm does not: as an optional peer of any version
 * it keeps nobody from installing the rest beside it. In a bundle nothing is checked: there is no package to look at.
 *
 * @param subpath - what needs it, e.g. `ioredisson/fastify`
 * @param name - of the package
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

/** What a subpath says of a package that could not be loaded. @returns another error than that it is missing as it is */
export function missingPeer(subpath: string, name: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) return error;
  return new ConfigError(`${subpath} needs ${name}, which is not installed: npm i ${name}`, { cause: error });
}

/** @returns `undefined` where that cannot be seen */
function installedVersion(name: string): string | undefined {
  try {
    for (let folder = path.dirname(require.resolve(name)); ; folder = path.dirname(folder)) {
      const manifest = path.join(folder, 'package.json');
      // A package of both module systems has others, without a name, in its folders.
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
