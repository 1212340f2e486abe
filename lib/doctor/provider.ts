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

/** A command that does not exist there, whoever asks. What only the user's rights forbid is told by `rights`. */
const ABSENT = /unknown (?:sub)?command|not (?:available|supported|allowed)/i;

export const provider: ServerCheck = {
  why: 'Managed services refuse commands; locks work without these, but less well.',
  async examine({ ask }) {
    const replies: Answer<unknown>[] = await Promise.all(
      USED.map(({ command, args }) => {
        const [name = '', ...subcommand] = command.split(' ');
        return ask(name.toLowerCase(), [...subcommand, ...args]);
      }),
    );
    const refused = USED.filter((_, i) => {
      const reply = replies[i]!;
      return 'refusal' in reply && ABSENT.test(reply.refusal);
    });
    if (refused.length === 0) return ok('refuses no command that locks have use for');
    const found = refused.map(({ command, cost }) => `${command} (${cost})`).join('; ');
    const what = `refuses ${found}`;
    if (refused.some(({ vital }) => vital)) return error(what, 'use a service, or a plan of it, that runs Lua scripts');
    return warning(what, 'see docs/managed.md for the settings that fit the service');
  },
};
