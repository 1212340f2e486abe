import type { Command } from 'commander';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Actions, createProgram } from '../lib/operators/cli/program';
import { projectRoot } from './buildOutput';

const NEVER = (): Promise<number> => Promise.reject(new Error('only its help is wanted'));
const ACTIONS: Actions = {
  run: NEVER,
  list: NEVER,
  inspect: NEVER,
  unlock: NEVER,
  permits: NEVER,
  latch: NEVER,
  top: NEVER,
  dashboard: NEVER,
  doctor: NEVER,
};

const notes = path.join(projectRoot, 'tools', 'help');

/** What the help of a command says below its options. @param command - `ioredisson`: the program */
function notesOf(command: string): string {
  return `\n${fs.readFileSync(path.join(notes, `${command}.txt`), 'utf8')}`;
}

/** The same for the command, beside it. */
export function writeHelpNotes(folder: string): void {
  fs.cpSync(notes, path.join(folder, 'operators', 'cli', 'help'), { recursive: true });
}

/** The program as it is documented: nothing in it can be run. */
export function documentedProgram(version = '0'): Command {
  return createProgram(version, ACTIONS, () => undefined, undefined, notesOf);
}

/** `man ioredisson`, made of what the program says by `--help`. */
export function writeManPage(folder: string): void {
  const { version } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const file = path.join(folder, 'man', 'ioredisson.1');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, manPage(version));
}

/** The page in the macros of man(7). */
export function manPage(version: string): string {
  const program = documentedProgram(version);
  const help = program.createHelp();
  const commands = program.commands.flatMap((command) => [
    `.SS ${roff(`ioredisson ${command.name()} ${command.usage()}`)}`,
    paragraph(command.description()),
    ...help.visibleArguments(command).map((one) => term(one.name(), help.argumentDescription(one))),
    ...help.visibleOptions(command).map((one) => term(help.optionTerm(one), help.optionDescription(one))),
    verbatim(notesOf(command.name())),
  ]);
  return [
    `.TH IOREDISSON 1 "" "ioredisson ${version}" "User Commands"`,
    '.SH NAME',
    'ioredisson \\- a distributed lock for the shell',
    '.SH SYNOPSIS',
    ...program.commands.flatMap((command) => [`.B ioredisson ${command.name()}`, `${roff(command.usage())}`, '.br']),
    '.SH DESCRIPTION',
    paragraph(program.description()),
    '.SH OPTIONS',
    ...help.visibleOptions(program).map((one) => term(help.optionTerm(one), help.optionDescription(one))),
    '.SH COMMANDS',
    ...commands,
    '.SH EXIT STATUS AND ENVIRONMENT',
    verbatim(notesOf('ioredisson')),
    '.SH SEE ALSO',
    '.BR flock (1)',
    '',
  ].join('\n');
}

function paragraph(text: string): string {
  return `.PP\n${roff(text)}`;
}

function term(name: string, text: string): string {
  return `.TP\n.B ${roff(name)}\n${roff(text)}`;
}

/** Lines as they are: the notes are written for a terminal. */
function verbatim(text: string): string {
  return `.PP\n.nf\n${text.trim().split('\n').map(roff).join('\n')}\n.fi`;
}

/** A line of text: no character of it is a command for troff, and a minus can be copied as one. */
function roff(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&');
}
