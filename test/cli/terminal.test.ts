// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sleepUntil, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { CliProcess, COMMAND, isRunning, TIMEOUT_MS } from './support/CliProcess';
import { observer, scratchFolder } from './support/world';
import { needTerminal } from './support/needs';

const RUN = `'${process.execPath}' '${COMMAND}' run`;
const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';
/** Prints its id and that of a child, which heed no TERM; the command's own parent is us. */
const STUBBORN =
  'trap "echo TERM" TERM; sh -c \'trap "" TERM; echo "child $$"; while :; do sleep 0.05; done\' & ' +
  'echo "us $PPID inside $$"; while :; do sleep 0.05; done';

describe('B9: ioredisson run on a terminal', function () {
  this.timeout(2 * TIMEOUT_MS);

  before(function () {
    ensureBuilt();
    needTerminal(this);
  });

  /** A shell with job control on a terminal of its own. */
  function startShell(): CliProcess {
    const shell = CliProcess.startWith('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], {
      env: { PS1: '', TERM: 'dumb' },
      cwd: scratchFolder(),
    });
    return shell;
  }

  /** Has the shell run a line of a file, so that its echo is not taken for its output. */
  function enter(shell: CliProcess, line: string, mode = ''): void {
    const file = path.join(scratchFolder(), 'line.sh');
    fs.writeFileSync(file, `${line}\n`);
    shell.type(`. ${file}${mode}\n`);
  }

  async function pidOf(shell: CliProcess, what: string): Promise<number> {
    return Number((await shell.prints(new RegExp(`${what} (\\d+)`)))[1]);
  }

  it('the command can ask for a password on the terminal, whatever stdin is', async () => {
    const shell = startShell();
    const ask =
      'stty -echo </dev/tty; printf "Password:" >/dev/tty; read p </dev/tty; stty echo </dev/tty; echo "it is ${p}!"';
    enter(shell, `${RUN} ${uniqueName()} -- sh -c '${ask}' </dev/null; echo "code=$?"`);
    await shell.prints(/Password:/);
    shell.type('sesame\n');
    await shell.prints(/it is sesame!/);
    await shell.prints(/code=0/);
  });

  for (const [what, send] of [
    ['Ctrl-C', (shell: CliProcess) => shell.type(CTRL_C)],
    ['INT to us alone', (_shell: CliProcess, us: number) => process.kill(us, 'SIGINT')],
    ['INT to the group', (_shell: CliProcess, us: number) => process.kill(-groupOf(us), 'SIGINT')],
    ['TERM to us alone', (_shell: CliProcess, us: number) => process.kill(us, 'SIGTERM')],
    ['TERM to the group', (_shell: CliProcess, us: number) => process.kill(-groupOf(us), 'SIGTERM')],
  ] as const) {
    it(`${what} reaches the command and what it has started, once`, async () => {
      const shell = startShell();
      const folder = scratchFolder();
      const name = uniqueName();
      const until = `while [ ! -e ${folder}/end ]; do sleep 0.05; done`;
      const inner = `trap "echo inner-got-it" INT TERM; echo "us $PPID"; ${until}`;
      const script = path.join(folder, 'outer.sh');
      fs.writeFileSync(path.join(folder, 'inner.sh'), inner.replace('$PPID', '$US'));
      fs.writeFileSync(script, `trap "echo outer-got-it" INT TERM; US=$PPID sh ${folder}/inner.sh; ${until}; exit 5\n`);
      enter(shell, `${RUN} ${name} -- sh ${script}; echo "code=$?"`);
      const us = await pidOf(shell, 'us');
      send(shell, us);
      await shell.prints(/inner-got-it/);
      // Longer than we may think about whom it was sent to.
      await sleep(1_000);
      fs.writeFileSync(path.join(folder, 'end'), '');
      await shell.prints(/code=5/);
      expect(shell.stdout.match(/inner-got-it/g)).to.have.lengthOf(1);
      expect(shell.stdout.match(/outer-got-it/g)).to.have.lengthOf(1);
      expect(await observer().exists(name)).to.equal(0);
    });
  }

  it('Ctrl-C while waiting ends the wait', async () => {
    const name = uniqueName();
    const redis = observer();
    await redis.hset(name, 'somebody', 1);
    const shell = startShell();
    enter(shell, `${RUN} ${name} -- echo in; echo "code=$?"`);
    await sleepUntil(async () => Number((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1]) > 0, {
      timeout: TIMEOUT_MS,
    });
    shell.type(CTRL_C);
    await shell.prints(/code=130/);
    await redis.del(name);
  });

  it('Ctrl-Z stops the job, fg continues it, and it still has the lock', async () => {
    const name = uniqueName();
    const shell = startShell();
    enter(shell, `${RUN} ${name} -- sh -c 'echo ready; read line; echo "read $line."; exit 4'`);
    await shell.prints(/ready/);
    shell.type(CTRL_Z);
    await shell.prints(/Stopped/);
    expect(await observer().exists(name)).to.equal(1);
    shell.type('fg\n');
    await shell.prints(/fg\r?\n[^]*run/);
    shell.type('a line\n');
    await shell.prints(/read a line\./);
    shell.type('echo "code=$?"\n');
    await shell.prints(/code=4/);
    expect(await observer().exists(name)).to.equal(0);
  });

  it('in the background it stops when it reads the terminal, and goes on in the foreground', async () => {
    const shell = startShell();
    enter(shell, `${RUN} ${uniqueName()} -- sh -c 'echo ready; read line </dev/tty; echo "read $line."' &`);
    await shell.prints(/ready/);
    // The shell tells of it at its next prompt.
    await sleepUntil(
      () => {
        shell.type('jobs\n');
        return sleep(200).then(() => /Stopped/.test(shell.stdout));
      },
      { timeout: TIMEOUT_MS },
    );
    shell.type('fg\na line\n');
    await shell.prints(/read a line\./);
  });

  it('a lost lock ends the command and what it has started, and nobody else in our process group', async () => {
    const shell = startShell();
    const name = uniqueName();
    const script = path.join(scratchFolder(), 'script.sh');
    fs.writeFileSync(
      script,
      `${RUN} -l 1s --grace 200ms ${name} -- sh -c '${STUBBORN.replace(/'/g, `'\\''`)}' | cat\n` +
        'echo "the script goes on"\n',
    );
    enter(shell, `bash -o pipefail ${script}; echo "code=$?"`);
    const pids = [await pidOf(shell, 'inside'), await pidOf(shell, 'child')];
    await shell.prints(/was lost while the command ran/);
    await shell.prints(/the script goes on/);
    await shell.prints(/TERM/);
    expect(pids.filter(isRunning)).to.deep.equal([]);
  });

  it('what the command leaves behind in the group is ended before the lock is given back', async () => {
    const shell = startShell();
    const name = uniqueName();
    const left = `(trap "" TERM; echo "child $(exec sh -c "echo \\$PPID")"; while :; do sleep 0.05; done) & sleep 0.5; exit 6`;
    enter(shell, `${RUN} --grace 300ms ${name} -- bash -c '${left}'; echo "code=$?"`);
    const pid = await pidOf(shell, 'child');
    await shell.prints(/code=6/);
    expect(isRunning(pid)).to.equal(false);
  });

  it('SIGKILL of us: the command and what it has started are ended', async () => {
    const shell = startShell();
    const name = uniqueName();
    enter(shell, `${RUN} -l 10m --grace 300ms ${name} -- sh -c '${STUBBORN.replace(/'/g, `'\\''`)}'; echo "code=$?"`);
    const pids = [await pidOf(shell, 'inside'), await pidOf(shell, 'child')];
    process.kill(await pidOf(shell, 'us'), 'SIGKILL');
    await shell.prints(/code=137/);
    await sleepUntil(() => !pids.some(isRunning), { timeout: TIMEOUT_MS });
    await observer().del(name);
  });
});

function groupOf(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
}
