import { expect } from 'chai';
import * as fs from 'node:fs';
import { constants } from 'node:os';
import * as path from 'node:path';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { CliProcess, isRunning, TIMEOUT_MS } from './support/CliProcess';
import { observer, scratchFolder, STAYS, untilQueued, untilWaitedFor } from './support/world';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

describe('ioredisson run and signals', function () {
  this.timeout(3 * TIMEOUT_MS);

  before(() => ensureBuilt());

  for (const signal of SIGNALS) {
    const code = 128 + constants.signals[signal];

    it(`${signal} while waiting: starts nothing, leaves nothing, exits ${code}`, async () => {
      const name = uniqueName();
      const redis = observer();
      const marker = path.join(scratchFolder(), 'started');
      await redis.hset(name, 'somebody', 1);
      const waiter = CliProcess.start(['run', name, '--', 'touch', marker]);
      await untilWaitedFor(redis, name);
      waiter.signal(signal);
      expect(await waiter.ended).to.deep.equal({ code, stdout: '', stderr: '' });
      // What is free now must not be taken by anybody who is gone.
      await redis.del(name);
      await redis.publish(`redisson_lock__channel:{${name}}`, '0');
      expect(await redis.exists(name)).to.equal(0);
      expect(fs.existsSync(marker)).to.equal(false);
    });

    it(`${signal} while holding: reaches the whole group, and the command decides`, async () => {
      const name = uniqueName();
      const folder = scratchFolder();
      const says = (who: string): string => `trap "echo ${who}" ${signal.slice(3)}`;
      const inner = `${says('inner')}; echo ready; while [ ! -e "$0/end" ]; do sleep 0.05; done`;
      // In the foreground: a shell makes what is in its background deaf to INT and QUIT.
      const script = `${says('outer')}; sh -c '${inner}' "$0"; exit 5`;
      const held = CliProcess.start(['run', name, '--', 'sh', '-c', script, folder]);
      await held.prints(/ready/);
      held.signal(signal);
      await held.prints(/inner/);
      fs.writeFileSync(path.join(folder, 'end'), '');
      await held.prints(/outer/);
      expect((await held.ended).code).to.equal(5);
      expect(await observer().exists(name)).to.equal(0);
    });
  }

  it('TERM while holding: the lock is kept while the command cleans up, and given back after it has ended', async () => {
    const name = uniqueName();
    const redis = observer();
    const folder = scratchFolder();
    const script =
      'trap "echo cleaning; while [ ! -e $0/end ]; do sleep 0.05; done; exit 3" TERM; echo ready; ' +
      'while :; do sleep 0.05; done';
    const held = CliProcess.start(['run', name, '--', 'sh', '-c', script, folder]);
    await held.prints(/ready/);
    held.signal('SIGTERM');
    await held.prints(/cleaning/);
    expect(await redis.exists(name)).to.equal(1);
    fs.writeFileSync(path.join(folder, 'end'), '');
    expect((await held.ended).code).to.equal(3);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('a command that a passed on signal ends gives its 128+n', async () => {
    const held = CliProcess.start(['run', uniqueName(), '--', 'sh', '-c', STAYS]);
    await held.prints(/inside/);
    held.signal('SIGINT');
    expect((await held.ended).code).to.equal(130);
  });

  it('reaches a command that /proc does not show (hidepid, a chroot)', async () => {
    const hidden = path.join(scratchFolder(), 'hidden.cjs');
    const hide = "fs.readdirSync = (path, ...more) => (path === '/proc' ? [] : readdirSync(path, ...more));";
    fs.writeFileSync(hidden, `const fs = require('node:fs'); const { readdirSync } = fs; ${hide}`);
    const held = CliProcess.start(['run', uniqueName(), '--', 'sh', '-c', STAYS], {
      env: { NODE_OPTIONS: `--require ${hidden}` },
    });
    const [, pid] = await held.prints(/inside (\d+)/);
    held.signal('SIGTERM');
    await sleepUntil(() => !isRunning(Number(pid)), { message: 'the command was not ended' });
    expect((await held.ended).code).to.equal(143);
  });

  it('leaves the queue of a fair lock when a signal ends the wait', async () => {
    const name = uniqueName();
    const redis = observer();
    const holder = CliProcess.start(['run', '-t', 'fair', name, '--', 'sh', '-c', STAYS]);
    await holder.prints(/inside/);
    const waiter = CliProcess.start(['run', '-t', 'fair', name, '--', 'echo', 'in']);
    await untilQueued(redis, name, 1);
    waiter.signal('SIGTERM');
    expect(await waiter.ended).to.include({ code: 143, stdout: '' });
    expect(await redis.exists(`redisson_lock_queue:{${name}}`, `redisson_lock_timeout:{${name}}`)).to.equal(0);
    holder.signal('SIGTERM');
    await holder.ended;
  });

  it('a signal while Redis cannot be reached ends the wait, too', async () => {
    const server = trackClient(await RedisServer.start());
    await server.kill();
    const waiter = CliProcess.start(['run', '-u', server.url, uniqueName(), '--', 'echo', 'in']);
    // It has no way to show that it waits: the signal may come before that, and must do the same.
    await sleepUntil(() => handlesSignals(waiter.pid), {
      timeout: TIMEOUT_MS,
    });
    waiter.signal('SIGTERM');
    expect(await waiter.ended).to.include({ code: 143, stdout: '' });
  });

  it('a signal while releasing has no effect: the exit code is the command own, and the lock is given back', async () => {
    const server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    const name = uniqueName();
    const held = CliProcess.start([
      'run',
      '-u',
      server.url,
      name,
      '--',
      'sh',
      '-c',
      'echo "inside $$"; read line; exit 3',
    ]);
    const [, pid] = await held.prints(/inside (\d+)/);
    server.pause();
    held.type('\n');
    await sleepUntil(() => !isRunning(Number(pid)), { timeout: TIMEOUT_MS });
    held.signal('SIGTERM');
    held.signal('SIGHUP');
    server.resume();
    expect(await held.ended).to.include({ code: 3 });
    expect(await redis.exists(name)).to.equal(0);
  });

  it('Ctrl-Z does not stop us while the command runs on', async () => {
    const held = CliProcess.start(['run', uniqueName(), '--', 'sh', '-c', 'echo inside; read line; exit 4']);
    await held.prints(/inside/);
    held.signal('SIGTSTP');
    held.type('\n');
    expect((await held.ended).code).to.equal(4);
  });
});

/**
 * Whether a process catches SIGUSR2, which Node leaves alone: our handlers are there. Where that cannot be read: yes.
 */
function handlesSignals(pid: number): boolean {
  const file = `/proc/${pid}/status`;
  const [, mask] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '') ?? [];
  return mask === undefined || (BigInt(`0x${mask}`) & (1n << BigInt(constants.signals.SIGUSR2 - 1))) !== 0n;
}
