#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';

/** Wrong usage, as sysexits.h numbers it. */
const EX_USAGE = 64;

const { version, description } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
  version: string;
  description: string;
};

const program = new Command('ioredisson').description(description).version(version).exitOverride();

try {
  program.parse();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : EX_USAGE;
}
