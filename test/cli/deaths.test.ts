import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, isRunning, TIMEOUT_MS } from './support/CliProcess';
import { configFile, observer, scratchFolder, STAYS, untilWaitedFor } from './support/world';

/** Says its id, heeds no TERM, and has a child that heeds none either. */
const STUBBORN =
  'trap "echo TERM" TERM; sh -c \'trap "" TERM; echo "child $$"; while :; do sleep 0.05; done\' & ' +
  'echo "inside $$"; while :; do sleep 0.05; done';

describe('ioredisson run and deaths', function () {
  this.timeout(3 * TIMEOUT_MS);

  before(() => ensureBuilt());

  async function stubborn(...args: string[]): Promise<{ held: CliProcess; pids: number[] }> {
    const held = CliProcess.start(['run', ...args, '--', 'sh', '-c', STUBBORN]);
    const pids = [await held.prints(/inside (\d+)/), await held.prints(/child (\d+)/)].map(([, pid]) => Number(pid));
    return { held, pids };
  }

  describe('lost lock', () => {
    it('the key is deleted: TERM, the grace, KILL for all of the group, 75', async () => {
      const server = trackClient(await RedisServer.start());
      const config = configFile(server.url, 'lockWatchdogTimeout: 3000');
      const name = uniqueName();
      const { held, pids } = await stubborn('-c', config, '--grace', '200ms', name);
      await observer(server.url).del(name);
      const end = await held.ended;
      expect(end.code).to.equal(75);
      expect(end.stdout).to.contain('TERM');
      expect(end.stderr).to.match(/^ioredisson: the lock '.*' was lost while the command ran: .+$/m);
      expect(pids.filter(isRunning)).to.deep.equal([]);
    });

    it('its lease has ended: a command that heeds TERM ends itself, and it is 75 all the same', async () => {
      const name = uniqueName();
      const script = 'trap "echo cleaning; exit 0" TERM; while :; do sleep 0.05; done';
      const end = await cli(['run', '-l', '500ms', name, '--', 'sh', '-c', script]);
      expect(end).to.include({ code: 75, stdout: 'cleaning\n' });
    });

    it('--grace 0: KILL at once', async () => {
      const end = await cli(['run', '-l', '500ms', '--grace', '0', uniqueName(), '--', 'sh', '-c', STUBBORN]);
      expect(end.code).to.equal(75);
      expect(end.stdout).not.to.contain('TERM');
    });

    it('found only by the release: 75 instead of the command own code', async () => {
      const name = uniqueName();
      const held = CliProcess.start(['run', name, '--', 'sh', '-c', 'echo inside; read line']);
      await held.prints(/inside/);
      await observer().del(name);
      held.type('\n');
      expect((await held.ended).code).to.equal(75);
    });

    it('leaves the lock of the next owner alone', async () => {
      const name = uniqueName();
      const redis = observer();
      const held = CliProcess.start(['run', name, '--', 'sh', '-c', 'echo inside; read line']);
      await held.prints(/inside/);
      await redis.multi().del(name).hset(name, 'somebody:1', 1).exec();
      held.type('\n');
      expect((await held.ended).code).to.equal(75);
      expect(await redis.hgetall(name)).to.deep.equal({ 'somebody:1': '1' });
      await redis.del(name);
    });
  });

  describe('the command', () => {
    it('what it leaves behind in its group is ended while the lock is still held', async () => {
      const name = uniqueName();
      const redis = observer();
      const left = 'trap "" TERM; echo "child $$"; exec >/dev/null; while :; do sleep 0.05; done';
      const script = `sh -c '${left}' & read line; exit 6`;
      const held = CliProcess.start(['run', '--grace', '2s', name, '--', 'sh', '-c', script]);
      const pid = Number((await held.prints(/child (\d+)/))[1]);
      held.type('\n');
      await sleepUntil(async () => (await redis.exists(name)) === 0, { timeout: TIMEOUT_MS });
      // The lock is gone: nothing of the command may be there any more.
      expect(isRunning(pid)).to.equal(false);
      expect((await held.ended).code).to.equal(6);
    });

    it('that ends itself leaves no process of ours', async () => {
      const end = await cli(['run', uniqueName(), '--', 'sh', '-c', 'echo $PPID']);
      expect(children(Number(end.stdout))).to.deep.equal([]);
    });
  });

  describe('us', () => {
    it('SIGKILL while holding: the whole group is ended, and the lock runs out with its lease', async () => {
      const name = uniqueName();
      const redis = observer();
      const { held, pids } = await stubborn('--grace', '300ms', '-l', '10m', name);
      held.signal('SIGKILL');
      await held.ended;
      await sleepUntil(() => !pids.some(isRunning), { timeout: TIMEOUT_MS });
      expect(await redis.pttl(name)).to.be.greaterThan(0);
      await redis.del(name);
    });

    it('SIGKILL by the command as the first thing it does: it is ended, although its group may not have been said yet', async () => {
      // It says its pid before: with a short grace it may be ended before it could do so later.
      const command = `echo "inside $$"; kill -KILL $PPID; ${STUBBORN}`;
      const runs = Array.from({ length: 8 }, async () => {
        const name = uniqueName();
        const held = CliProcess.start(['run', '--grace', '300ms', '-l', '10m', name, '--', 'sh', '-c', command]);
        const pid = Number((await held.prints(/inside (\d+)/))[1]);
        await sleepUntil(() => !isRunning(pid), { timeout: TIMEOUT_MS });
        await observer().del(name);
      });
      await Promise.all(runs);
    });

    it('SIGKILL while waiting: nothing is started, and the next one gets the lock', async () => {
      const name = uniqueName();
      const redis = observer();
      const marker = path.join(scratchFolder(), 'started');
      const holder = CliProcess.start(['run', name, '--', 'sh', '-c', STAYS]);
      await holder.prints(/inside/);
      const waiter = CliProcess.start(['run', name, '--', 'touch', marker]);
      await untilWaitedFor(redis, name);
      waiter.signal('SIGKILL');
      await waiter.ended;
      holder.signal('SIGTERM');
      await holder.ended;
      expect((await cli(['run', name, '--', 'echo', 'in'])).stdout).to.equal('in\n');
      expect(fs.existsSync(marker)).to.equal(false);
    });
  });

  describe('Redis', () => {
    let server: RedisServer;
    beforeEach(async () => {
      server = trackClient(await RedisServer.start());
    });

    it('killed while holding: the command is ended before the lease is, and the code is 75', async () => {
      const config = configFile(server.url, 'lockWatchdogTimeout: 3000', 'timeout: 500', 'retryAttempts: 0');
      const script = 'trap "echo TERM; exit 0" TERM; echo "inside $$"; while :; do sleep 0.05; done';
      const held = CliProcess.start(['run', '-c', config, uniqueName(), '--', 'sh', '-c', script]);
      await held.prints(/inside/);
      await server.kill();
      const end = await held.ended;
      expect(end).to.include({ code: 75 });
      expect(end.stdout).to.contain('TERM');
    });

    it('killed and back without the lock while holding: 75', async () => {
      const config = configFile(server.url, 'lockWatchdogTimeout: 3000', 'timeout: 500');
      const { held, pids } = await stubborn('-c', config, '--grace', '100ms', uniqueName());
      await server.restart();
      expect((await held.ended).code).to.equal(75);
      expect(pids.filter(isRunning)).to.deep.equal([]);
    });

    it('killed and back while waiting: waits on, and gets the lock', async () => {
      const name = uniqueName();
      const redis = observer(server.url);
      await redis.hset(name, 'somebody', 1);
      const waiter = CliProcess.start(['run', '-u', server.url, name, '--', 'echo', 'in']);
      await untilWaitedFor(redis, name);
      redis.disconnect();
      await server.restart();
      expect(await waiter.ended).to.deep.equal({ code: 0, stdout: 'in\n', stderr: '' });
    });

    it('gone for good while waiting: 69', async () => {
      const name = uniqueName();
      const redis = observer(server.url);
      await redis.hset(name, 'somebody', 1);
      // Long: a process may take seconds to start, and must find the lock held.
      await redis.pexpire(name, 60_000);
      const config = configFile(server.url, 'timeout: 300', 'retryAttempts: 0');
      const waiter = CliProcess.start(['run', '-c', config, name, '--', 'echo', 'in']);
      await untilWaitedFor(redis, name);
      redis.disconnect();
      await server.kill();
      expect(await waiter.ended).to.include({ code: 69, stdout: '' });
    });

    it('silent at the end: one warning, and the exit code of the command', async () => {
      const script = 'echo inside; read line; exit 3';
      const held = CliProcess.start(['run', '-u', server.url, uniqueName(), '--', 'sh', '-c', script]);
      await held.prints(/inside/);
      server.pause();
      held.type('\n');
      const end = await held.ended;
      expect(end.code).to.equal(3);
      expect(end.stderr).to.match(
        /^ioredisson: the lock '.*' could not be released, it runs out in about \d+ s: [^\n]+\n$/,
      );
    });
  });
});

/** The processes whose parent is, or was, that one. */
function children(parent: number): string[] {
  if (process.platform !== 'linux') return [];
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(parent);
    } catch {
      return false;
    }
  });
}
