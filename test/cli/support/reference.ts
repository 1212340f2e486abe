import type { Command } from 'commander';
import * as path from 'node:path';
import { documentedProgram } from '../../../tools/buildManPage';
import { projectRoot } from '../../../tools/buildOutput';

/** Where the reference of the command line is. */
export const REFERENCE_FILE = path.join(projectRoot, 'docs', 'cli.md');

const WIDTH = 80;

/** docs/cli.md, made of the program's own help. */
export function referenceText(): string {
  const program = documentedProgram();
  const sections = program.commands.map((command) => section(`ioredisson ${command.name()}`, command));
  return [
    '# Command line',
    '<!-- Made by `npm run docs:cli` of the help of the commands. Change lib/operators/cli/program.ts and tools/help/*.txt instead. -->',
    [
      '`npm install -g ioredisson` installs the command `ioredisson`. In a project that has the package, it is',
      '`npx ioredisson`.',
    ].join('\n'),
    section('ioredisson', program),
    ...sections,
  ]
    .join('\n\n')
    .concat('\n');
}

function section(title: string, command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => (text += part),
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return `## ${title}\n\n\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
