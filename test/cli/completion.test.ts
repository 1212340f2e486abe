import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { manPage } from '../../tools/buildManPage';
import { skip } from '../support';
import { cli, TIMEOUT_MS } from './support/CliProcess';
import { scratchFolder } from './support/world';

type Shell = 'bash' | 'zsh' | 'fish';

/** What a shell proposes when somebody types that and presses Tab. */
type Completer = (typed: string, script: string) => readonly string[];

const COMPLETERS: Readonly<Record<Shell, Completer>> = {
  bash: (typed, script) => {
    const words = typed.split(' ').map((word) => `'${word}'`);
    const program = `. ${script}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _ioredisson; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return run('bash', ['--norc', '-c', program]);
  },
  // zsh completes only what is typed into a terminal. What it would show is what `compadd` is given.
  zsh: (typed, script) => {
    const found = path.join(path.dirname(script), 'found');
    const setUp = [
      `autoload -Uz compinit; compinit -u -d ${path.dirname(script)}/dump; source ${script}`,
      `compadd() { if [[ " $* " != *\\ -[OAD]\\ * ]]; then local -a all; builtin compadd -O all "$@"; print -rl -- $all >> ${found}; fi; builtin compadd "$@" }`,
      `propose() { zle list-choices; print -r -- E''ND }; zle -N propose; bindkey "^X" propose; print REA''DY`,
    ];
    const program = `
      zmodload zsh/zpty
      zpty z zsh -f -i
      ${setUp.map((line) => `zpty -w z ${shellQuoted(line)}`).join('\n')}
      while zpty -r z line; do [[ $line == *READY* ]] && break; done
      zpty -n -w z ${shellQuoted(typed)}$'\\C-x'
      while zpty -r z line; do [[ $line == *END* ]] && break; done
      zpty -d z`;
    run('zsh', ['-f', '-c', program]);
    return fs.readFileSync(found, 'utf8').split('\n');
  },
  fish: (typed, script) => {
    const lines = run('fish', ['--no-config', '-c', `source ${script}; complete -C ${JSON.stringify(typed)}`]);
    return lines.map((line) => line.split('\t')[0]!);
  },
};

function run(file: string, args: readonly string[]): string[] {
  const { stdout, stderr, status } = spawnSync(file, args, { encoding: 'utf8', timeout: TIMEOUT_MS });
  if (status !== 0) throw new Error(`${file}: ${status} ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function has(file: string, ...args: string[]): boolean {
  return spawnSync(file, args).status === 0;
}

describe('ioredisson completion', function () {
  this.timeout(2 * TIMEOUT_MS);

  before(() => ensureBuilt());

  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    describe(shell, () => {
      let script: string;

      before(async function () {
        if (!has(shell, '-c', ':')) skip(this, `no ${shell}`);
      });

      beforeEach(async () => {
        script = path.join(scratchFolder(), `completion.${shell}`);
        const { code, stdout, stderr } = await cli(['completion', shell]);
        expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
        fs.writeFileSync(script, stdout);
      });

      for (const [typed, proposed, not] of [
        ['ioredisson ', ['run', 'list', 'inspect', 'unlock', 'top', 'dashboard', 'doctor', 'completion', 'help'], 'ls'],
        ['ioredisson run --', ['--wait', '--at-least', '--type', '--verbose', '--grace'], '--json'],
        ['ioredisson list --', ['--json', '--url', '--config'], '--wait'],
        ['ioredisson run -t f', ['fair', 'fenced'], 'spin'],
        ['ioredisson completion ', ['bash', 'zsh', 'fish'], 'run'],
        ['ioredisson help d', ['dashboard', 'doctor'], 'run'],
        ['ioredisson run backup -- basen', ['basename'], '--wait'],
      ] as const) {
        it(`'${typed}': ${proposed.join(' ')}`, () => {
          const proposals = COMPLETERS[shell](typed, script);
          expect(proposals).to.include.members([...proposed]);
          expect(proposals).not.to.include(not);
        });
      }
    });
  }
});

describe('man ioredisson', () => {
  before(() => ensureBuilt());

  it('is where package.json says, and made of the help', () => {
    const { man, version } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
      readonly man: readonly string[];
      readonly version: string;
    };
    const [file] = man;
    const page = fs.readFileSync(path.join(projectRoot, file!), 'utf8');
    expect(page).to.equal(manPage(version));
    for (const part of ['\\-\\-at\\-least', 'REDIS_URL', 'ioredisson completion', '.SH EXIT STATUS']) {
      expect(page).to.contain(part);
    }
  });

  it('is what a formatter takes without a complaint, and shows each option', function () {
    if (!has('groff', '--version')) skip(this, 'no groff');
    const { stdout, stderr } = spawnSync('groff', ['-man', '-Tascii', '-ww', '-P', '-cbou'], {
      input: manPage('1.2.3'),
      encoding: 'utf8',
    });
    expect(stderr).to.equal('');
    expect(stdout)
      .to.contain('ioredisson 1.2.3')
      .and.to.contain('-w, --wait <time>')
      .and.to.contain("jq -r '.[].name'");
  });
});
