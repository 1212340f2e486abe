import { Command, Option } from 'commander';
import { addClientOptions } from './clientOptions';
import { ExitCode } from './exitCodes';
import { examplesOf, EXIT_CODES, RUN_NOTES } from './helpTexts';
import { LOCK_KINDS } from './lockKinds';
import { oneLine } from './output';
import type { RunOptions } from './run';
import { exitCodeArgument, positiveTimeArgument, timeArgument } from './timeArgument';

/** What the commands do; each resolves to the exit code. */
export interface Actions {
  run(name: string, command: readonly string[], options: RunOptions): Promise<number>;
}

/** Default of `--grace`, in ms. */
const DEFAULT_GRACE_MS = 5_000;

/**
 * The command line: arguments, options, help.
 *
 * @param about - of package.json
 * @param actions - what the commands do
 * @param done - told the exit code of the command that was run
 */
export function createProgram(
  about: { readonly version: string; readonly description: string },
  actions: Actions,
  done: (exitCode: number) => void,
): Command {
  const program = new Command('ioredisson')
    .description('A lock for the shell: run commands while holding a lock of Redisson, and see who holds what.')
    .version(about.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .addHelpText('after', EXIT_CODES);
  addRun(program, actions, done);
  return program;
}

function addRun(program: Command, actions: Actions, done: (exitCode: number) => void): void {
  const command = program
    .command('run')
    .summary('run a command while holding a lock')
    .description('Takes the lock, runs the command, gives the lock back. Like flock(1), for a fleet.')
    .usage('[options] <name> -- <command> [args...]')
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'the command and its arguments, after --');
  addClientOptions(command)
    .addOption(new Option('-w, --wait <time>', 'give up after that long').argParser(timeArgument).conflicts('nonblock'))
    .option('-n, --nonblock', 'do not wait')
    .option(
      '-l, --lease <time>',
      'hold it that long at most (default: as long as the command runs)',
      positiveTimeArgument,
    )
    .addOption(new Option('-t, --type <kind>', 'the kind of lock').choices(LOCK_KINDS).default('lock'))
    .addOption(
      new Option('-E, --conflict-exit-code <n>', 'exit code when not acquired')
        .argParser(exitCodeArgument)
        .default(ExitCode.no),
    )
    .addOption(
      new Option('--grace <time>', 'after the lock is lost: TERM to the process group, this long, then KILL')
        .argParser(timeArgument)
        .default(DEFAULT_GRACE_MS, '5s'),
    )
    .addHelpText('after', RUN_NOTES + examplesOf('run'))
    .action(async (name: string, rest: string[], options: RunOptions) => {
      if (!isSeparated(program, rest)) command.error("error: put '--' between the name and the command");
      done(await actions.run(name, rest, options));
    });
}

/** Whether the command, and nothing else, stands behind `--`: a forgotten name must not make a lock of the command. */
function isSeparated(program: Command, rest: readonly string[]): boolean {
  const { rawArgs } = program as Command & { readonly rawArgs: readonly string[] };
  const at = rawArgs.indexOf('--');
  return at !== -1 && rawArgs.length - at - 1 === rest.length;
}

function usageError(text: string): string {
  return `ioredisson: ${oneLine(text)} (see ioredisson --help)\n`;
}
