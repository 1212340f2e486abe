import { hasEntry } from './changelog';
import { PLACEHOLDER } from './ownerPlaces';

/** What a release is judged by before the long checks begin. */
export interface ReleaseFacts {
  /** `version` of package.json. */
  readonly version: string;
  /** `version` of package-lock.json. */
  readonly lockVersion: string | undefined;
  /** The tracked files that still have the placeholder for the account. */
  readonly placeholders: readonly string[];
  /** The text of CHANGELOG.md. */
  readonly changelog: string;
  /** What `git status --porcelain` prints. */
  readonly changes: string;
  /** The tags that exist. */
  readonly tags: readonly string[];
}

/** The tag of a version. */
export function tagOf(version: string): string {
  return `v${version}`;
}

/** The tag of the registry under which a version is found: a pre-release is installed only by those who ask for it. */
export function distTagOf(version: string): string {
  return version.includes('-') ? 'next' : 'latest';
}

/** Whether a text is a version: `1.0.0`, `1.0.0-rc.1`. */
export function isVersion(text: string): boolean {
  return /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(text);
}

/** Whether a version is that one or a later one. */
export function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map((part) => parseInt(part, 10));
  const index = wanted.findIndex((part, i) => parts[i] !== part);
  return index < 0 || parts[index]! > wanted[index]!;
}

/** Everything that forbids the release, a line each; empty: go on. */
export function releaseProblems({
  version,
  lockVersion,
  placeholders,
  changelog,
  changes,
  tags,
}: ReleaseFacts): string[] {
  const problems: string[] = [];
  if (changes !== '') problems.push('the tree is not clean: commit or remove what is there');
  if (!isVersion(version)) problems.push(`package.json: "${version}" is not a version`);
  if (lockVersion !== version) problems.push('package-lock.json has another version: npm install --package-lock-only');
  if (placeholders.length > 0)
    problems.push(`"${PLACEHOLDER}" is a placeholder in ${placeholders.join(', ')}: npm run owner -- <account>`);
  if (!hasEntry(changelog, version)) problems.push(`CHANGELOG.md has no line "## ${version} - YYYY-MM-DD"`);
  if (tags.includes(tagOf(version))) problems.push(`the tag ${tagOf(version)} exists already`);
  return problems;
}
