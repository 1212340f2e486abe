import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** Jobs with a right to write that may run what dependencies bring, or install anything but the lock file. None may. */
const RUNS_OTHERS = /\bnpm (?:test|run (?!release -- --publish-tested\b))|\b(?:npx|apt-get|curl|wget)\b/;

/**
 * What makes a workflow depend on something that may change, or gives rights to what does not need them.
 *
 * @param file - its name, for the lines
 * @param text - the YAML
 * @returns a line each; empty: nothing
 */
export function workflowProblems(file: string, text: string): string[] {
  const { permissions, jobs } = parse(text) as Workflow;
  const problems = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(?:- )?uses:/.test(line) && !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))
    .map((line) => `${line}: not pinned by a full commit hash, with its version behind it`);
  if (JSON.stringify(permissions) !== JSON.stringify({ contents: 'read' }))
    problems.push('permissions: all jobs begin with "contents: read" and no more');
  for (const [name, { permissions: own = {}, steps }] of Object.entries(jobs)) {
    const writes = own['contents'] === 'write';
    for (const { uses = '', run = '', with: inputs } of steps) {
      if (/\bnpm (?:install|i|update|exec|x)\b|\bnpx\b/.test(run))
        problems.push(`${name}: "${run}" installs what no lock file names: npm ci`);
      if (writes && RUNS_OTHERS.test(run)) problems.push(`${name}: "${run}" runs in the job that publishes`);
      if (uses.startsWith('actions/checkout@') && inputs?.['persist-credentials'] !== false)
        problems.push(`${name}: the checkout leaves its token for all later steps: persist-credentials: false`);
      if (writes && inputs?.['cache'] !== undefined)
        problems.push(`${name}: a job that publishes takes nothing from a cache`);
    }
  }
  return problems.map((problem) => `${file}: ${problem}`);
}
