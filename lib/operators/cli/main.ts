#!/usr/bin/env node
import { CommanderError } from 'commander';
import { VERSION } from '../doctor';
import { ExitCode, exitCodeOf, messageOf } from './exit';
import { allSaid, print, say, sayRaw } from './output';
import { type Actions, createProgram, textBeside } from './program';
import type * as doctorModule from './doctor';
import type * as dashboardModule from './dashboard';
import type * as inspectModule from './inspect';
import { run } from './run';
import type * as topModule from './top';

// Loaded on demand, so that `run` starts fast.
/* eslint-disable @typescript-eslint/no-require-imports */
const actions: Actions = {
  run,
  list: (...args) => (require('./inspect') as typeof inspectModule).list(...args),
  inspect: (...args) => (require('./inspect') as typeof inspectModule).inspect(...args),
  unlock: (...args) => (require('./inspect') as typeof inspectModule).unlock(...args),
  permits: (...args) => (require('./inspect') as typeof inspectModule).permits(...args),
  latch: (...args) => (require('./inspect') as typeof inspectModule).latch(...args),
  doctor: (...args) => (require('./doctor') as typeof doctorModule).doctor(...args),
  top: (...args) => (require('./top') as typeof topModule).top(...args),
  dashboard: (...args) => (require('./dashboard') as typeof dashboardModule).dashboard(...args),
};
/* eslint-enable @typescript-eslint/no-require-imports */

/** Runs the command on the command line. @returns the exit code */
async function main(): Promise<number> {
  let exitCode: number = ExitCode.ok;
  let help = '';
  const output = { writeOut: (text: string) => void (help += text), writeErr: sayRaw };
  const notesOf = (command: string): string => `\n${textBeside(`help/${command}.txt`)}`;
  const program = createProgram(VERSION, actions, (code) => (exitCode = code), output, notesOf);
  // Pending connects and retry pauses do not keep the process alive. This timer does.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await program.parseAsync().catch((error: unknown) => {
      // Commander has printed the error, or wants the help printed.
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0) exitCode = ExitCode.usage;
    });
    if (help !== '') await print(help);
    return exitCode;
  } catch (error) {
    const code = exitCodeOf(error);
    // As with `| head`: the reader is gone, so print no error.
    if (code !== ExitCode.readerGone) say(messageOf(error));
    return code;
  } finally {
    clearInterval(alive);
  }
}

// Print warnings on one line, like all other messages.
process.removeAllListeners('warning');
process.on('warning', (warning) => say(`warning: ${warning.message}`));

// ioredis prints two lines per connection whose user may not run INFO. The doctor says what that means.
console.warn = () => undefined;

void main().then(async (exitCode) => {
  await allSaid();
  process.exit(exitCode);
});
