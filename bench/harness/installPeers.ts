import * as path from 'node:path';
import { installFolder } from '../../tools/installFolder';

/**
 * Installs the other libraries, unless they are there already. Returns whether they are there now; without them the bench
 * runs with this package, the references and the baselines.
 */
export function installPeers(say: (line: string) => void): boolean {
  if (installFolder(path.resolve(__dirname, '..'), 'the other libraries', say)) return true;
  say('they could not be installed: the npm peers are left out, and the page has tables only');
  return false;
}
