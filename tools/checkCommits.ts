import { execFileSync } from 'node:child_process';
import { projectRoot } from './buildOutput';
import { commitProblems, readCommits } from './commitProblems';

/** The rule holds from here on. */
const SINCE = '2026-11-26T16:00:00Z';
/** So many commits are looked at: those that may still be changed. */
const LAST = 50;

/** `npm run check:commits`: the last commits have a short subject, and a body that says why. */
function main(): void {
  const args = ['log', '-z', `-${LAST}`, '--no-merges', `--since=${SINCE}`, '--format=%H%n%s%n%b'];
  const problems = commitProblems(readCommits(execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' })));
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}

main();
