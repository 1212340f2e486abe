/** What a release is judged by before the long checks begin. */
export interface ReleaseFacts {
  /** `version` of package.json. */
  readonly version: string;
  /** `version` of package-lock.json. */
  readonly lockVersion: string | undefined;
  /** `repository.url` of package.json. */
  readonly repository: string;
  /** The text of CHANGELOG.md. */
  readonly changelog: string;
  /** What `git status --porcelain` prints. */
  readonly changes: string;
  /** The tags that exist. */
  readonly tags: readonly string[];
}

/** Stands for the account that will own the repository, also in .github/CODEOWNERS. */
const PLACEHOLDER = 'OWNER';

/** The tag of a version. */
export function tagOf(version: string): string {
  return `v${version}`;
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
  repository,
  changelog,
  changes,
  tags,
}: ReleaseFacts): string[] {
  const problems: string[] = [];
  if (changes !== '') problems.push('the tree is not clean: commit or remove what is there');
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) problems.push(`package.json: "${version}" is not a version`);
  if (lockVersion !== version) problems.push('package-lock.json has another version: npm install --package-lock-only');
  if (repository.includes(PLACEHOLDER))
    problems.push(`package.json: "${PLACEHOLDER}" is a placeholder for the account`);
  if (!hasEntry(changelog, version)) problems.push(`CHANGELOG.md has no line "## ${version} - YYYY-MM-DD"`);
  if (tags.includes(tagOf(version))) problems.push(`the tag ${tagOf(version)} exists already`);
  return problems;
}

function hasEntry(changelog: string, version: string): boolean {
  const heading = `## ${version} - `;
  const dates = changelog.split('\n').filter((line) => line.startsWith(heading));
  return dates.some((line) => /^\d{4}-\d{2}-\d{2}$/.test(line.slice(heading.length)));
}
