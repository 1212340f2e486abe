import type { Option } from 'commander';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { SHELLS } from '../lib/operators/cli/program';
import { documentedProgram } from './buildManPage';

/** What can be typed behind the name of a command. */
interface Completable {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletableOption[];
  /** What its first argument may be, where that is known. */
  readonly choices: readonly string[];
  /** Whether a command of the user's stands behind `--`. */
  readonly runs: boolean;
}

interface CompletableOption {
  /** As they are typed, the short one first: `-u`, `--url`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** What its value may be; `file`: a file; `any`: nobody knows; `undefined`: it takes none. */
  readonly value: readonly string[] | 'file' | 'any' | undefined;
}

const MAKERS: Readonly<Record<(typeof SHELLS)[number], (all: readonly Completable[]) => string>> = { bash, zsh, fish };

/**
 * A completion script for each shell beside the command, made of the commands and options as the program knows them.
 * None of them starts a process: whoever presses Tab does not wait for a Node to start.
 */
export function writeCompletions(folder: string): void {
  const all = completables();
  for (const shell of SHELLS) {
    fs.writeFileSync(path.join(folder, 'operators', 'cli', `completion.${shell}`), MAKERS[shell](all));
  }
}

function completables(): readonly Completable[] {
  const program = documentedProgram();
  const help = program.createHelp();
  const all = help.visibleCommands(program).map((command) => ({
    name: command.name(),
    summary: help.subcommandDescription(command),
    options: help.visibleOptions(command).map(completableOption),
    choices: command.registeredArguments[0]?.argChoices ?? [],
    runs: command.registeredArguments.some(({ variadic }) => variadic),
  }));
  const names = all.map(({ name }) => name);
  return all.map((one) => (one.name === 'help' ? { ...one, choices: names, options: [] } : one));
}

function completableOption(option: Option): CompletableOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  const value = option.attributeName() === 'config' ? 'file' : (option.argChoices ?? 'any');
  return { flags, description: option.description, value: option.required || option.optional ? value : undefined };
}

function bash(all: readonly Completable[]): string {
  const cases = all.map(({ name, options, choices }) => {
    const withValue = options.filter(({ value }) => value !== undefined);
    const values = withValue.map(({ flags, value }) => {
      const does = value === 'file' ? '_ioredisson_files' : typeof value === 'string' ? ':' : words(value!);
      return `        ${flags.join(' | ')}) ${does} ;;`;
    });
    const otherwise = [...options.flatMap(({ flags }) => flags), ...choices];
    return [
      `    ${name})`,
      '      case $prev in',
      ...values,
      `        *) ${words(otherwise)} ;;`,
      '      esac',
      '      ;;',
    ];
  });
  return lines([
    '# bash completion of ioredisson: source <(ioredisson completion bash)',
    // What bash 3.2 of macOS knows, too.
    `_ioredisson_words() { local IFS=$' \\n'; COMPREPLY=($(compgen -W "$1" -- "$cur")); }`,
    `_ioredisson_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); }`,
    '_ioredisson() {',
    '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i',
    '  COMPREPLY=()',
    '  # --option=value is three words here.',
    '  if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi',
    '  for ((i = 2; i < COMP_CWORD; i++)); do',
    '    [[ ${COMP_WORDS[i]} == -- ]] || continue',
    '    if declare -F _comp_command_offset >/dev/null; then _comp_command_offset $((i + 1))',
    '    elif declare -F _command_offset >/dev/null; then _command_offset $((i + 1))',
    '    elif ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur"))',
    '    else _ioredisson_files; fi',
    '    return',
    '  done',
    `  if ((COMP_CWORD == 1)); then ${words([...all.map(({ name }) => name), '--help', '--version'])}; return; fi`,
    '  case ${COMP_WORDS[1]} in',
    ...cases.flat(),
    '  esac',
    '}',
    'complete -F _ioredisson ioredisson',
  ]);
}

function words(list: readonly string[]): string {
  return `_ioredisson_words '${list.join(' ')}'`;
}

function zsh(all: readonly Completable[]): string {
  const escaped = (text: string): string => quoted(text.replace(/[\\[\]:]/g, '\\$&'));
  const specs = (option: CompletableOption): string[] => {
    const { flags, description, value } = option;
    const action = value === 'file' ? ':file:_files' : typeof value === 'string' ? ':value:' : '';
    const choices = typeof value === 'object' ? `:value:(${value.join(' ')})` : action;
    // Either of the two excludes the other.
    return flags.map((flag) => escapedSpec(`(${flags.join(' ')})${flag}`, description, choices));
  };
  const escapedSpec = (flag: string, description: string, action: string): string =>
    quoted(`${flag}[${description.replace(/[\\[\]]/g, '\\$&')}]${action}`);
  const cases = all.map(({ name, options, choices, runs }) => {
    const first = choices.length > 0 ? `:argument:(${choices.join(' ')})` : ':name:';
    const args = [...options.flatMap(specs), quoted(`1${first}`), ...(runs ? [quoted('*:::command:_normal')] : [])];
    return `      ${name}) _arguments -S ${args.join(' ')} ;;`;
  });
  return lines([
    '#compdef ioredisson',
    '# zsh completion of ioredisson: source <(ioredisson completion zsh)',
    '_ioredisson() {',
    '  local context state state_descr line',
    '  typeset -A opt_args',
    "  _arguments -C '(- *)'{-h,--help}'[print the help]' '(- *)'{-V,--version}'[print the version]' \\",
    "    '1:command:->command' '*::argument:->argument'",
    '  case $state in',
    '    command)',
    '      local -a commands=(',
    ...all.map(({ name, summary }) => `        ${escaped(name).slice(0, -1)}:${escaped(summary).slice(1)}`),
    '      )',
    '      _describe command commands',
    '      ;;',
    '    argument)',
    '      case $words[1] in',
    ...cases.map((line) => `  ${line}`),
    '      esac',
    '      ;;',
    '  esac',
    '}',
    '# As a file of $fpath it is the function itself; sourced, it is made known.',
    'if [[ $funcstack[1] == _ioredisson ]]; then _ioredisson "$@"; else compdef _ioredisson ioredisson; fi',
  ]);
}

function fish(all: readonly Completable[]): string {
  const names = all.map(({ name }) => name).join(' ');
  const none = quoted(`not __fish_seen_subcommand_from ${names}`);
  const ofOption = (name: string, { flags, description, value }: CompletableOption): string => {
    const flag = flags.map((one) => (one.startsWith('--') ? `-l ${one.slice(2)}` : `-s ${one.slice(1)}`)).join(' ');
    const takes = value === 'file' ? ' -r -F' : typeof value === 'string' ? ' -x' : '';
    const choices = typeof value === 'object' ? ` -x -a ${quoted(value.join(' '))}` : takes;
    return `complete -c ioredisson -n ${within(name)} ${flag}${choices} -d ${quoted(description)}`;
  };
  const within = (name: string): string =>
    quoted(`__fish_seen_subcommand_from ${name}; and not contains -- -- (commandline -opc)`);
  return lines([
    '# fish completion of ioredisson: ioredisson completion fish > ~/.config/fish/completions/ioredisson.fish',
    'complete -c ioredisson -f',
    `complete -c ioredisson -n ${none} -s h -l help -d 'print the help'`,
    `complete -c ioredisson -n ${none} -s V -l version -d 'print the version'`,
    ...all.flatMap(({ name, summary, options, choices, runs }) => [
      `complete -c ioredisson -n ${none} -a ${name} -d ${quoted(summary)}`,
      ...options.map((option) => ofOption(name, option)),
      ...(choices.length > 0 ? [`complete -c ioredisson -n ${within(name)} -a ${quoted(choices.join(' '))}`] : []),
      ...(runs
        ? [
            'function __ioredisson_command',
            '  set -l words (commandline -opc) (commandline -ct)',
            '  set -l at (contains -i -- -- $words)',
            '  complete -C (string join " " -- (string escape -- $words[(math $at + 1)..-1]))',
            'end',
            `complete -c ioredisson -n 'contains -- -- (commandline -opc)' -a '(__ioredisson_command)'`,
          ]
        : []),
    ]),
  ]);
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
