#!/usr/bin/env node
import { CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExitCode } from './exitCodes';
import { exitCodeOf, messageOf } from './failure';
import { say } from './output';
import { createProgram } from './program';
import { run } from './run';

/** Reads the command line and does what it says. @returns the exit code */
async function main(): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const about = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
    version: string;
    description: string;
  };
  const program = createProgram(about, { run }, (code) => (exitCode = code));
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or printed the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    say(messageOf(error));
    return exitCodeOf(error);
  }
}

// Whoever reads us may have gone (a pipe to head, a closed terminal): no reason to leave a lock behind.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// In one line, like everything else.
process.removeAllListeners('warning');
process.on('warning', (warning) => say(`warning: ${warning.message}`));

void main().then((exitCode) => process.exit(exitCode));
