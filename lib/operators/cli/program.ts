import { Argument, Command, InvalidArgumentError, Option, type OutputConfiguration } from 'commander';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TimeUnit } from '../../index';
import { ALL_KINDS } from '../doctor';
import { addClientOptions } from './clientOptions';
import { ExitCode } from './exit';
import type { DashboardCommandOptions } from './dashboard';
import { oneLine, print } from './output';
import type { LatchOptions, PermitsOptions, ReportOptions, UnlockOptions } from './inspect';
import type { RunOptions } from './run';
import type { TopOptions } from './top';

/** The function behind each command; each resolves to the exit code. */
export interface Actions {
  run(name: string, command: readonly string[], options: RunOptions): Promise<number>;
  list(pattern: string | undefined, options: ReportOptions): Promise<number>;
  inspect(name: string, options: ReportOptions): Promise<number>;
  unlock(name: string, options: UnlockOptions): Promise<number>;
  permits(name: string, options: PermitsOptions): Promise<number>;
  latch(name: string, options: LatchOptions): Promise<number>;
  top(pattern: string | undefined, options: TopOptions): Promise<number>;
  dashboard(options: DashboardCommandOptions): Promise<number>;
  doctor(name: string | undefined, options: ReportOptions): Promise<number>;
}

/** Default of `--grace`, in ms. */
const DEFAULT_GRACE_MS = 5_000;
/** Default of `top --interval`, in ms. */
const DEFAULT_INTERVAL_MS = 1_000;
/** The most that `permits --add` adds: the largest number of permits in Java. */
const MAX_PERMITS = 2 ** 31 - 1;
/** Default of `dashboard --port`. */
const DEFAULT_PORT = 7_380;

/**
 * Kinds that `run --type` accepts. A run acquires its lock only once, so kinds that differ only in not being
 * re-entrant are left out.
 */
const RUN_KINDS = ALL_KINDS.filter(({ lockOf, reentrant = true }) => lockOf !== undefined && reentrant).map(
  ({ name }) => name,
);

/** Reads a text file that the build puts beside the command. */
export function textBeside(file: string): string {
  return readFileSync(join(__dirname, file), 'utf8');
}

/** Shells for which the build writes a completion script, beside the command. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Receives the exit code of the command that ran. */
type Done = (exitCode: number) => void;

/**
 * The command line: arguments, options, help.
 *
 * @param version - of the package
 * @param actions - the functions behind the commands
 * @param done - receives the exit code of the command that ran
 * @param output - receives help, version and usage errors
 * @param notesOf - the text below the options of a command, or of `ioredisson`: its promises, and examples
 */
export function createProgram(
  version: string,
  actions: Actions,
  done: Done,
  output?: OutputConfiguration,
  notesOf: (command: string) => string = () => '',
): Command {
  const program = new Command('ioredisson')
    .description('A lock for the shell: run commands while holding a lock of Redisson, and see who holds what.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({ ...output });
  addRun(program, actions, done);
  addOthers(program, actions, done);
  for (const command of [program, ...program.commands]) {
    // Point to the command's own help: it lists the option that was used wrongly.
    const help = command === program ? 'ioredisson --help' : `ioredisson ${command.name()} --help`;
    command.configureOutput({ outputError: (text, write) => write(`ioredisson: ${oneLine(text)} (see ${help})\n`) });
    command.addHelpText('after', () => notesOf(command.name()));
  }
  return program;
}

function addRun(program: Command, actions: Actions, done: Done): void {
  const command = program.command('run');
  addClientOptions(command)
    .summary('run a command while holding a lock')
    .description('Takes the lock, runs the command, gives the lock back. Like flock(1), for a fleet.')
    .usage('[options] <name> -- <command> [args...]')
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'the command and its arguments, after --')
    .addOption(new Option('-w, --wait <time>', 'give up after that long').argParser(timeArgument).conflicts('nonblock'))
    .option('-n, --nonblock', 'do not wait')
    .option(
      '-l, --lease <time>',
      'hold it that long at most (default: as long as the command runs)',
      positiveTimeArgument,
    )
    .addOption(new Option('-t, --type <kind>', 'the kind of lock').choices(RUN_KINDS).default('lock'))
    .option(
      '--at-least <time>',
      'the lock stays that long, although the command has ended (for cron on several machines)',
      timeArgument,
    )
    .option('-v, --verbose', 'say on stderr who holds it while waiting, and why it was not acquired')
    .option('-E, --conflict-exit-code <n>', 'exit code when not acquired', wholeNumber(0, 255), ExitCode.no)
    .addOption(
      new Option('--grace <time>', 'after the lock is lost: TERM to the process group, this long, then KILL')
        .argParser(timeArgument)
        .default(DEFAULT_GRACE_MS, '5s'),
    )
    .action(async (name: string, rest: string[], options: RunOptions) => {
      const given = separated(program, rest);
      if (given === undefined) return command.error("error: put '--' between the name and the command");
      done(await actions.run(name, given, options));
    });
}

/** Adds every command except `run`. */
function addOthers(program: Command, actions: Actions, done: Done): void {
  const add = (name: string): Command => addClientOptions(program.command(name));
  const addWatching = (name: string): Command => add(name).addOption(expectWaits());

  addWatching('list')
    .summary('list the locks there are')
    .description('Lists locks and synchronizers: kind, owner, holds, time to live, waiters. Changes nothing.')
    .argument('[pattern]', "of the names, as Redis' SCAN has it: order:*")
    .option('--json', 'print JSON')
    .action(async (pattern: string | undefined, options: ReportOptions) => done(await actions.list(pattern, options)));

  addWatching('inspect')
    .summary('show all about one lock')
    .description('Shows a lock or synchronizer: who holds it, who waits, for how long. Changes nothing.')
    .argument('<name>', 'its name')
    .option('--json', 'print JSON')
    .action(async (name: string, options: ReportOptions) => done(await actions.inspect(name, options)));

  const unlock = add('unlock');
  unlock
    .summary('release a lock, whoever holds it')
    .description('Releases a lock, whoever holds it, and wakes those who wait. The holder is not asked.')
    .argument('<name>', 'its name')
    .option('--force', 'yes, I mean it (required)')
    .option('--json', 'print JSON')
    .action(async (name: string, options: UnlockOptions) => {
      if (options.force !== true) unlock.error('error: only --force takes a lock away from its holder');
      done(await actions.unlock(name, options));
    });

  const permits = add('permits');
  permits
    .summary('give permits back, whoever has them')
    .description('Shows a semaphore, adds permits to it, or gives one back. Whoever has them is not asked.')
    .argument('<name>', 'its name')
    .addOption(new Option('--add <n>', 'add permits').argParser(wholeNumber(1, MAX_PERMITS)).conflicts('release'))
    .option('--release <id>', 'give the permit with that id back: see ioredisson inspect')
    .option('--force', 'yes, I mean it (required to change it)')
    .option('--json', 'print JSON')
    .action(async (name: string, options: PermitsOptions) => {
      const changes = options.add !== undefined || options.release !== undefined;
      if (changes && options.force !== true) permits.error('error: only --force gives permits back for others');
      if (!changes && options.force === true) permits.error('error: --force needs --add or --release');
      done(await actions.permits(name, options));
    });

  const latch = add('latch');
  latch
    .summary('open a latch, whoever should count down')
    .description('Shows a latch, or opens it for those who wait, whoever should still count down.')
    .argument('<name>', 'its name')
    .option('--open', 'delete it: those who wait go on')
    .option('--force', 'yes, I mean it (required to change it)')
    .option('--json', 'print JSON')
    .action(async (name: string, options: LatchOptions) => {
      if (options.open === true && options.force !== true) latch.error('error: only --force opens a latch for others');
      if (options.open !== true && options.force === true) latch.error('error: --force needs --open');
      done(await actions.latch(name, options));
    });

  addWatching('top')
    .summary('watch the locks')
    .description('A live view of locks and synchronizers, the most waited for first. q or Ctrl-C ends it.')
    .argument('[pattern]', "of the names, as Redis' SCAN has it: order:*")
    .addOption(
      new Option('-i, --interval <time>', 'between two looks')
        .argParser(positiveTimeArgument)
        .default(DEFAULT_INTERVAL_MS, '1s'),
    )
    .addOption(new Option('--count <n>', 'end after so many looks').argParser(wholeNumber(1, 999_999_999)))
    .action(async (pattern: string | undefined, options: TopOptions) => done(await actions.top(pattern, options)));

  addWatching('dashboard')
    .summary('serve a page that shows the locks')
    .description('Serves a page that shows the locks, live: who holds them, for how long, who waits. Ctrl-C ends it.')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .addOption(new Option('--port <n>', 'the port; 0 = any').argParser(wholeNumber(0, 65_535)).default(DEFAULT_PORT))
    .option('--allow-unlock', 'let the page release locks, whoever holds them')
    .option('--label <text>', 'what the page calls this Redis: production, staging')
    .addOption(
      new Option('--color <name>', 'the colour of the label (default: by what it says)').choices([
        ...['red', 'amber', 'green', 'blue', 'purple'],
      ]),
    )
    .action(async (options: DashboardCommandOptions) => done(await actions.dashboard(options)));

  add('doctor')
    .summary('check what breaks locks')
    .description('Checks server, user and client for what breaks locks, and says what to do. Changes nothing.')
    .argument('[name]', 'of a lock of yours: the rights to its keys and channels are checked, too')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, options: ReportOptions) => done(await actions.doctor(name, options)));

  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script that lets the shell complete commands and options.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: string) => {
      await print(textBeside(`completion.${shell}`));
      done(ExitCode.ok);
    });
}

/** May be given several times. */
function expectWaits(): Option {
  const collect = (pattern: string, before: readonly string[] = []): readonly string[] => [...before, pattern];
  const what = 'of names where long waits are no trouble: the standby of a leader (repeatable)';
  return new Option('--expect-waits <pattern>', what).argParser(collect);
}

/**
 * The command behind `--`, and nothing else: if the user forgets the name, the command must not become the name of a
 * lock. A name that begins with `-` needs a `--` of its own before it.
 *
 * @param rest - what commander leaves after the name
 * @returns `undefined` without a `--` between name and command
 */
function separated(program: Command, rest: readonly string[]): readonly string[] | undefined {
  const { rawArgs } = program as Command & { readonly rawArgs: readonly string[] };
  const at = rawArgs.indexOf('--');
  if (at === -1) return undefined;
  const behind = rawArgs.length - at - 1;
  if (behind === rest.length) return rest;
  return behind === rest.length + 1 && rest[0] === '--' && rest.length > 1 ? rest.slice(1) : undefined;
}

const UNITS: ReadonlyMap<string, TimeUnit> = new Map([
  // Seconds by default, as in flock(1) and sleep(1).
  ['', TimeUnit.SECONDS],
  ['ms', TimeUnit.MILLISECONDS],
  ['s', TimeUnit.SECONDS],
  ['m', TimeUnit.MINUTES],
  ['h', TimeUnit.HOURS],
  ['d', TimeUnit.DAYS],
]);

/**
 * Parses a time from the command line: `500ms`, `10s`, `1.5s`, `2m`, `1h`, `1d`, or `10`, which means seconds.
 *
 * @returns whole milliseconds
 * @throws InvalidArgumentError (commander's) for anything else
 */
function timeArgument(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  if (number === undefined || unit === undefined)
    throw new InvalidArgumentError(`It must be a time like 10s, got '${text}'.`);
  const known = UNITS.get(unit);
  if (known === undefined) {
    throw new InvalidArgumentError(
      `The units are ${[...UNITS.keys()].filter(Boolean).join(', ')}; without one: seconds.`,
    );
  }
  const ms = Math.ceil(known.toMillis(Number(number)));
  if (ms > Number.MAX_SAFE_INTEGER) throw new InvalidArgumentError(`'${text}' is too long.`);
  return ms;
}

/** Like {@link timeArgument}, but rejects 0. */
function positiveTimeArgument(text: string): number {
  const ms = timeArgument(text);
  if (ms === 0) throw new InvalidArgumentError('It must be longer than 0.');
  return ms;
}

/** Returns a parser for whole numbers from `least` to `most`. It throws InvalidArgumentError for anything else. */
function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be ${least} to ${most}.`);
  };
}
