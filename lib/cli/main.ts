#!/usr/bin/env node
import { CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExitCode } from './exitCodes';
import { exitCodeOf, messageOf } from './failure';
import { say } from './output';
import { type Actions, createProgram } from './program';
import type * as inspectModule from './inspect';
import type * as listModule from './list';
import { run } from './run';
import type * as topModule from './top';
import type * as unlockModule from './unlock';

// Loaded when asked for: `run` starts as fast as it can.
/* eslint-disable @typescript-eslint/no-require-imports */
const actions: Actions = {
  run,
  list: (...args) => (require('./list') as typeof listModule).list(...args),
  inspect: (...args) => (require('./inspect') as typeof inspectModule).inspect(...args),
  unlock: (...args) => (require('./unlock') as typeof unlockModule).unlock(...args),
  top: (...args) => (require('./top') as typeof topModule).top(...args),
};
/* eslint-enable @typescript-eslint/no-require-imports */

/** Reads the command line and does what it says. @returns the exit code */
async function main(): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  const program = createProgram(version, actions, (code) => (exitCode = code));
  // Connections that are being made, and pauses between two attempts, keep no process alive.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or printed the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    say(messageOf(error));
    return exitCodeOf(error);
  } finally {
    clearInterval(alive);
  }
}

// Whoever reads us may have gone (a pipe to head, a closed terminal): no reason to leave a lock behind.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// In one line, like everything else.
process.removeAllListeners('warning');
process.on('warning', (warning) => say(`warning: ${warning.message}`));

void main().then((exitCode) => process.exit(exitCode));
