/** What the exit codes mean, for the help. */
export const EXIT_CODES = `
Exit codes:
  0           done
  1           unlock: there was no such lock; run: see --conflict-exit-code
  64          wrong usage or configuration
  65          the name belongs to data of another type, or Redis refuses the command
  69          Redis cannot be reached, does not answer, or does not let us in
  75          run: the lock was lost while the command ran
  126, 127    run: the command cannot be executed, there is no such command
  128+n       run: signal n ended the command, or the wait for the lock

Environment:
  REDIS_URL   where Redis is, unless --url or --config says it
              (default: redis://127.0.0.1:6379); ps does not show it
`;

/** What \`run\` promises, for the help. */
export const RUN_NOTES = `
Times are 500ms, 10s, 1.5s, 2m, 1h, 1d.

The command has our stdin, stdout and stderr. It sees IOREDISSON_LOCK, the name
of the lock, and with --type fenced IOREDISSON_TOKEN, which is greater than the
token of every holder before.

It is a process group of its own. TERM, INT, HUP, QUIT, USR1 and USR2 are
passed on to all of it; while still waiting they end the wait. What it leaves
behind in its group is ended (TERM, the grace, KILL) before the lock is given
back. If ioredisson itself is killed, the command is ended the same way.

The exit code is that of the command, 128+n where signal n ended it, or:
  1     not acquired (--conflict-exit-code)    75    the lock was lost
  64    wrong usage or configuration           126   cannot be executed
  69    Redis is unreachable                   127   no such command
`;

const EXAMPLES: Readonly<Record<string, readonly (readonly [what: string, line: string])[]>> = {
  run: [
    ['one backup at a time in the fleet; the others skip theirs', 'ioredisson run -n backup -- /usr/local/bin/backup'],
    ['wait for at most ten minutes', 'ioredisson run -w 10m migrate:orders -- npm run migrate'],
    ['several commands', "ioredisson run deploy -- sh -c 'git pull && make install'"],
    ['the order of asking decides', 'ioredisson run -t fair reports -- ./report.sh'],
    ['the configuration of a Java service', 'ioredisson run -c redisson.yaml orders -- ./import.sh'],
  ],
};

/** The examples of a command, for the help. */
export function examplesOf(command: string): string {
  const lines = (EXAMPLES[command] ?? []).map(([what, line]) => `  # ${what}\n  ${line}`);
  return `\nExamples:\n${lines.join('\n')}\n`;
}
