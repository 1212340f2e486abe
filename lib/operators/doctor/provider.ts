import { error, ok, warning } from './findings';
import type { Answer } from './facts';
import type { ServerCheck } from './serverChecks';

/** What a managed service may refuse to everybody, and what that costs. */
const USED: readonly {
  readonly command: string;
  readonly args: readonly (string | number)[];
  readonly cost: string;
  /** Whether no lock works without it. */
  readonly vital?: true;
}[] = [
  {
    command: 'EVAL',
    args: ['return 1', 0],
    cost: 'no lock works: all are scripts',
    vital: true,
  },
  {
    command: 'WAIT',
    args: [0, 1],
    cost: 'no replica confirms an acquisition: a failover may forget the newest locks',
  },
  {
    command: 'PUBSUB NUMSUB',
    args: ['ioredisson'],
    cost: 'on a cluster fairness between processes is estimated; list shows no waiters',
  },
  {
    command: 'CLIENT LIST',
    args: [],
    cost: 'an inspector cannot say whether a holder is still connected',
  },
  {
    command: 'CONFIG GET',
    args: ['maxmemory-policy'],
    cost: 'eviction, persistence and time-outs are to be looked up in the console of the provider',
  },
  {
    command: 'INFO',
    args: ['server'],
    cost: 'version, replicas and memory are to be looked up in the console of the provider',
  },
];

/** What a server says that cannot serve it just now, or not in its place. All else is a refusal: each has its own words. */
const FOR_NOW = /^(?:NOAUTH|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS)\b|\breplica/;
/** What only the user's rights forbid. */
const FORBIDDEN = /^NOPERM\b/;

export const provider: ServerCheck = {
  why: 'Managed services refuse commands; locks work without these, but less well.',
  async examine({ ask }) {
    const replies: Answer<unknown>[] = await Promise.all(
      USED.map(({ command, args }) => {
        const [name = '', ...subcommand] = command.split(' ');
        return ask(name.toLowerCase(), [...subcommand, ...args]);
      }),
    );
    const words = replies.map((reply) => ('refusal' in reply && !FOR_NOW.test(reply.refusal) ? reply.refusal : ''));
    const refused = USED.filter((_, i) => words[i] !== '' && !FORBIDDEN.test(words[i]!));
    const forbidden = USED.filter((_, i) => FORBIDDEN.test(words[i]!));
    const forbids = forbidden.length === 0 ? '' : `; this user may not ${listed(forbidden)}`;
    if (refused.length === 0) return ok(`refuses no command that locks have use for${forbids}`);
    const what = `refuses ${listed(refused)}${forbids}`;
    if (refused.some(({ vital }) => vital)) return error(what, 'use a service, or a plan of it, that runs Lua scripts');
    return warning(what, 'see docs/managed.md for the settings that fit the service');
  },
};

function listed(commands: typeof USED): string {
  return commands.map(({ command, cost }) => `${command} (${cost})`).join('; ');
}
