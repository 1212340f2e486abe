import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Stands for the account that will own the repository, in every file that names it. */
export const PLACEHOLDER = 'OWNER';

/** What comes before the account: the repository's address, and a code owner. */
const REPOSITORY = /(github\.com\/)[\w-]+(?=\/ioredisson\b)/g;
const CODE_OWNER = /^(\* @)[\w-]+$/gm;

/** A text with the account in the address of the repository, and as the code owner. */
export function withOwner(text: string, account: string): string {
  return text.replaceAll(REPOSITORY, `$1${account}`).replaceAll(CODE_OWNER, `$1${account}`);
}

/** Whether a text still has the placeholder where the account belongs. */
export function hasPlaceholder(text: string): boolean {
  return [...text.matchAll(REPOSITORY), ...text.matchAll(CODE_OWNER)].some(([place, before]) =>
    place.endsWith(`${before!}${PLACEHOLDER}`),
  );
}

/** Whether GitHub allows it as the name of an account. */
export function isAccount(name: string): boolean {
  return /^(?!-)(?!.*--)[A-Za-z\d-]{1,39}(?<!-)$/.test(name) && name !== PLACEHOLDER;
}

/** A tracked file. */
export interface TrackedText {
  readonly file: string;
  readonly text: string;
}

/** Every tracked file of a checkout that is text. @param root - of the checkout */
export function trackedTexts(root: string): TrackedText[] {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  return (
    files
      .filter((file) => file !== '' && fs.existsSync(path.join(root, file)))
      .map((file) => ({ file, text: fs.readFileSync(path.join(root, file), 'utf8') }))
      // A binary file would not survive being read as text.
      .filter(({ text }) => !text.includes('\uFFFD'))
  );
}
