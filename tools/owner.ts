import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';
import { isAccount, PLACEHOLDER, trackedTexts, withOwner } from './ownerPlaces';

const USAGE = `npm run owner -- <account>   names the account that owns the repository, everywhere (until then: ${PLACEHOLDER})`;

/** `npm run owner -- <account>`: writes the account into every tracked file that names it. */
function main([account, ...more]: readonly string[]): void {
  if (account === undefined || more.length > 0 || !isAccount(account)) {
    process.stderr.write(`${account === undefined ? '' : `got ${account}, which is no account of GitHub\n`}${USAGE}\n`);
    process.exitCode = 64;
    return;
  }
  for (const { file, text } of trackedTexts(projectRoot)) {
    const changed = withOwner(text, account);
    if (changed === text) continue;
    fs.writeFileSync(path.join(projectRoot, file), changed);
    process.stdout.write(`${file}\n`);
  }
}

main(process.argv.slice(2));
