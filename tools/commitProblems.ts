/** A commit as it is judged. */
export interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly body: string;
}

/** The longest subject, in characters: what lists of commits show whole. */
const MAX_SUBJECT = 72;

/** Lines that tools add behind a message, and that say nothing of the change. */
const TRAILER = /^[\w-]+: .*$/gm;

/** What is wrong with the messages of commits, a line each; empty: nothing. */
export function commitProblems(commits: readonly Commit[]): string[] {
  return commits.flatMap(({ hash, subject, body }) => {
    const problems: string[] = [];
    if (subject.length > MAX_SUBJECT) problems.push(`the subject has ${subject.length} characters, not ${MAX_SUBJECT}`);
    if (body.replaceAll(TRAILER, '').trim() === '') problems.push('no body that says why');
    return problems.map((problem) => `${hash.slice(0, 10)} "${subject}": ${problem}`);
  });
}

/** Commits as `git log -z --format=%H%n%s%n%b` prints them. */
export function readCommits(log: string): Commit[] {
  return log
    .split('\0')
    .filter((one) => one.trim() !== '')
    .map((one) => {
      const [hash = '', subject = '', ...body] = one.trimStart().split('\n');
      return { hash, subject, body: body.join('\n') };
    });
}
