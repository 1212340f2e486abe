import { expect } from 'chai';
import * as fs from 'node:fs';
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';
import type { ObjectReport } from '../../lib/operators/inspection';
import { allowLeftovers, redisUrl, RedisServer, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, COMMAND, TIMEOUT_MS } from './support/CliProcess';
import { configFile, observer, scratchFolder, STAYS, untilWaitedFor } from './support/world';

describe('ioredisson run', function () {
  this.timeout(3 * TIMEOUT_MS);

  before(() => ensureBuilt());

  it('hands the command stdin, stdout and stderr, and its exit code on', async () => {
    const script = 'cat; echo to stderr >&2; exit 7';
    const end = await cli(['run', uniqueName(), '--', 'sh', '-c', script], { input: 'from stdin\n' });
    expect(end).to.deep.equal({ code: 7, stdout: 'from stdin\n', stderr: 'to stderr\n' });
  });

  it('holds the lock while the command runs, for the watchdog time, and gives it back', async () => {
    const name = uniqueName();
    const redis = observer();
    const held = CliProcess.start(['run', name, '--', 'sh', '-c', 'echo inside; read line']);
    await held.prints(/inside/);
    expect(Object.values(await redis.hgetall(name))).to.deep.equal(['1']);
    expect(await redis.pttl(name)).to.be.within(1, 30_000);
    held.type('\n');
    expect((await held.ended).code).to.equal(0);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('tells the command the name of the lock, and a token only of a fenced one', async () => {
    allowLeftovers({ keys: /^redisson_lock_token:/ });
    const name = uniqueName();
    const script = 'echo "$IOREDISSON_LOCK ${IOREDISSON_TOKEN-none}"';
    const env = { IOREDISSON_TOKEN: '99' };
    expect((await cli(['run', name, '--', 'sh', '-c', script], { env })).stdout).to.equal(`${name} none\n`);
    const [first, second] = [
      await cli(['run', '-t', 'fenced', name, '--', 'sh', '-c', script], { env }),
      await cli(['run', '--type', 'fenced', name, '--', 'sh', '-c', script], { env }),
    ].map(({ stdout }) => Number(stdout.split(' ')[1]));
    expect(first).to.equal(1);
    expect(second).to.equal(2);
  });

  it('passes arguments that look like options on', async () => {
    const end = await cli(['run', uniqueName(), '--', 'printf', '%s,', '-n', '--', '--help']);
    expect(end.stdout).to.equal('-n,--,--help,');
  });

  for (const [option, place] of [
    ['-u', () => redisUrl()],
    ['--url', () => redisUrl()],
    ['-c', () => configFile(redisUrl())],
    ['--config', () => configFile(redisUrl())],
  ] as const) {
    it(`finds Redis by ${option}, which goes before REDIS_URL`, async () => {
      const env = { REDIS_URL: 'redis://127.0.0.1:1' };
      expect((await cli(['run', option, place(), uniqueName(), '--', 'echo', 'in'], { env })).stdout).to.equal('in\n');
    });
  }

  it('D1: takes a module as --config, which can hold credentials', async () => {
    const yaml = configFile(redisUrl());
    const module = yaml.replace('redisson.yaml', 'redisson.mjs');
    const { host } = new URL(redisUrl());
    const text = `export default { url: 'redis://${host}', credentials: () => { throw new Error('no token today'); } };`;
    fs.writeFileSync(module, text);
    const refused = await cli(['run', '--config', module, uniqueName(), '--', 'echo', 'in']);
    expect(refused.stderr).to.contain('no token today');
    expect(refused.stdout).to.equal('');
    fs.writeFileSync(module.replace('.mjs', '.cjs'), `module.exports = { url: 'redis://${host}' };`);
    const inside = await cli(['run', '-c', module.replace('.mjs', '.cjs'), uniqueName(), '--', 'echo', 'in']);
    expect(inside.stdout).to.equal('in\n');
    const none = await cli(['run', '-c', `${module}x.mjs`, uniqueName(), '--', 'echo', 'in']);
    expect(none.stderr).to.contain('cannot be loaded');
  });

  it('applies the name mapper of the configuration', async () => {
    const mapper = 'nameMapper: !<org.redisson.config.PrefixNameMapper> {prefix: "app:"}';
    const config = configFile(redisUrl(), mapper);
    const name = uniqueName();
    const held = CliProcess.start(['run', '-c', config, name, '--', 'sh', '-c', STAYS]);
    await held.prints(/inside/);
    expect(await observer().exists(`app:${name}`)).to.equal(1);
    const [report] = JSON.parse((await cli(['list', '--json', '-c', config, name])).stdout) as { name: string }[];
    expect(report).to.include({ name, key: `app:${name}`, kind: 'lock' });
    held.signal('SIGTERM');
    await held.ended;
  });

  describe('when somebody else holds the lock', () => {
    let name: string;
    let holder: CliProcess;

    beforeEach(async () => {
      name = uniqueName();
      holder = CliProcess.start(['run', name, '--', 'sh', '-c', STAYS]);
      await holder.prints(/inside/);
    });

    afterEach(async () => {
      holder.signal('SIGTERM');
      expect((await holder.ended).code).to.equal(143);
    });

    for (const [args, code] of [
      [['-n'], 1],
      [['--nonblock'], 1],
      [['-w', '0'], 1],
      [['-w', '1ms'], 1],
      [['-w', '0.1'], 1],
      [['--wait', '0.2s'], 1],
      [['-n', '-E', '9'], 9],
      [['-n', '--conflict-exit-code', '0'], 0],
      [['-w', '100ms', '-E', '255', '-t', 'fair'], 255],
      [['-n', '-t', 'fair'], 1],
      [['-n', '-t', 'read'], 1],
      [['-w', '50ms', '-t', 'write'], 1],
      [['-w', '50ms', '-t', 'spin'], 1],
    ] as const) {
      it(`${args.join(' ')}: exits ${code}, and says and runs nothing`, async () => {
        const end = await cli(['run', ...args, name, '--', 'echo', 'inside']);
        expect(end).to.deep.equal({ code, stdout: '', stderr: '' });
      });
    }

    it('-v: says on stderr who holds it while waiting, and why it was not acquired', async () => {
      const { pid } = holder;
      const { code, stdout, stderr } = await cli(['run', '-v', '-w', '3', name, '--', 'echo', 'inside']);
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
      const [first, last, ...more] = stderr.trimEnd().split('\n');
      expect(first).to.match(
        new RegExp(`^ioredisson: waiting for '${name}': held by \\S+/${pid} \\([0-9a-f-]{36}:\\d+\\)$`),
      );
      expect(last).to.match(
        new RegExp(
          `^ioredisson: '${name}' was not acquired within 3.0 s: held by \\S+/${pid} \\([0-9a-f-]{36}:\\d+\\)$`,
        ),
      );
      expect(more).to.deep.equal([]);
    });

    it('--verbose says why it was not acquired where it does not wait, and nothing where it is', async () => {
      const end = await cli(['run', '--verbose', '-n', name, '--', 'echo', 'inside']);
      expect(end).to.include({ code: 1, stdout: '' });
      expect(end.stderr).to.match(new RegExp(`^ioredisson: '${name}' was not acquired: held by [^\\n]+\\n$`));
      const free = await cli(['run', '--verbose', uniqueName(), '--', 'echo', 'inside']);
      expect(free).to.include({ code: 0, stdout: 'inside\n', stderr: '' });
    });

    it('waits for it, without limit or with one', async () => {
      const waiters = [[], ['-w', '10m'], ['-w', '600']].map((args) =>
        CliProcess.start(['run', ...args, name, '--', 'echo', 'in']),
      );
      holder.signal('SIGTERM');
      for (const waiter of waiters) expect((await waiter.ended).stdout).to.equal('in\n');
    });
  });

  it('-l: holds it with that lease', async () => {
    const name = uniqueName();
    const held = CliProcess.start(['run', '-l', '2h', name, '--', 'sh', '-c', STAYS]);
    await held.prints(/inside/);
    expect(await observer().pttl(name)).to.be.within(7_000_000, 7_200_000);
    held.signal('SIGTERM');
    await held.ended;
  });

  describe('--at-least', () => {
    it('the lock stays that long after the command has ended, whatever its exit code, and is renewed no longer', async () => {
      const redis = observer();
      for (const code of [0, 3]) {
        const name = uniqueName();
        const end = await cli(['run', '--at-least', '5', name, '--', 'sh', '-c', `exit ${code}`]);
        expect(end).to.deep.equal({ code, stdout: '', stderr: '' });
        expect(await redis.pttl(name)).to.be.within(1, 5_000);
        expect((await cli(['run', '-n', name, '--', 'echo', 'inside'])).code).to.equal(1);
        await redis.del(name);
      }
    });

    for (const type of ['lock', 'fair', 'fenced', 'read', 'write', 'spin']) {
      it(`-t ${type}: who looks at it can tell it from a lock whose process has died`, async () => {
        const name = uniqueName();
        expect((await cli(['run', '-t', type, '--at-least', '9s', name, '--', 'true'])).code).to.equal(0);
        const { stdout } = await cli(['inspect', '--json', name]);
        const { verdict, ttlMs } = JSON.parse(stdout) as ObjectReport;
        expect(ttlMs).to.be.within(1, 9_000);
        // A reader cannot change its owner, and is left to expire.
        if (type !== 'read') {
          expect(verdict.kind).to.equal('held');
          expect(verdict.sentence).to.contain('no process has it').and.contain('run --at-least');
          const text = (await cli(['inspect', name])).stdout;
          expect(text).to.contain('none: detached').and.not.contain('Java');
        }
        await observer().del(name, `redisson_lock_token:{${name}}`);
      });
    }

    it('a command that takes longer gives the lock back at once', async () => {
      const name = uniqueName();
      expect((await cli(['run', '--at-least', '1ms', name, '--', 'sleep', '0.1'])).code).to.equal(0);
      expect(await observer().exists(name)).to.equal(0);
    });

    it('it stays also where a signal ended the command', async () => {
      const name = uniqueName();
      const held = CliProcess.start(['run', '--at-least', '1h', name, '--', 'sh', '-c', STAYS]);
      await held.prints(/inside/);
      held.signal('SIGTERM');
      expect((await held.ended).code).to.equal(143);
      const redis = observer();
      expect(await redis.pttl(name)).to.be.within(3_000_000, 3_600_000);
      await redis.del(name);
    });

    it('a command that cannot be started keeps nobody from it', async () => {
      const name = uniqueName();
      expect((await cli(['run', '--at-least', '1h', name, '--', 'no-such-command-here'])).code).to.equal(127);
      expect(await observer().exists(name)).to.equal(0);
    });

    it('wakes those who wait when that time is over, not when the watchdog would have', async () => {
      const name = uniqueName();
      const held = CliProcess.start(['run', '--at-least', '2s', name, '--', 'sh', '-c', 'echo inside; read line']);
      await held.prints(/inside/);
      const waiter = CliProcess.start(['run', name, '--', 'echo', 'next']);
      await untilWaitedFor(observer(), name);
      held.type('\n');
      await held.ended;
      const endedAt = performance.now();
      expect((await waiter.ended).stdout).to.equal('next\n');
      expect(performance.now() - endedAt).to.be.below(20_000);
    });
  });

  describe('inside a run', () => {
    /** A command line, to be run by the shell of another one. */
    const nested = (...args: string[]): string => [process.execPath, COMMAND, 'run', ...args].join(' ');

    for (const args of [[], ['-n'], ['-w', '1h'], ['-t', 'fair'], ['-t', 'read'], ['-t', 'write']]) {
      it(`D14: ${['run', ...args].join(' ')} of the lock around it is refused with 64`, async () => {
        const name = uniqueName();
        const end = await cli(['run', name, '--', 'sh', '-c', `${nested(...args, name, '--', 'echo', 'in')}`]);
        expect(end).to.include({ code: 64, stdout: '' });
        expect(end.stderr).to.equal(
          `ioredisson: '${name}' is held by a run around this one: they would wait for each other\n`,
        );
      });
    }

    it('another lock is no matter, and that of the outermost run is refused there, too', async () => {
      const [outer, inner] = [uniqueName(), uniqueName()];
      const innermost = nested(outer, '--', 'echo', 'in');
      const end = await cli([
        'run',
        outer,
        '--',
        ...nested(inner, '--', 'sh', '-c').split(' '),
        `echo ok; ${innermost}`,
      ]);
      expect(end).to.include({ code: 64, stdout: 'ok\n' });
    });

    it('readers are several; a writer within a reader is refused', async () => {
      const name = uniqueName();
      const command = (type: string): string[] => [
        ...['run', '-t', 'read', name, '--', 'sh', '-c'],
        nested('-t', type, name, '--', 'echo', 'in'),
      ];
      expect(await cli(command('read'))).to.include({ code: 0, stdout: 'in\n' });
      expect(await cli(command('write'))).to.include({ code: 64, stdout: '' });
    });

    it('the same name on another server is another lock', async () => {
      const server = trackClient(await RedisServer.start());
      const name = uniqueName();
      const end = await cli(['run', name, '--', 'sh', '-c', nested('-u', server.url, name, '--', 'echo', 'in')]);
      expect(end).to.include({ code: 0, stdout: 'in\n', stderr: '' });
    });

    it('what a run has left behind, and what others say in its variable, keeps nobody out', async () => {
      const name = uniqueName();
      const gone = JSON.stringify([{ name, owner: `${randomUUID()}:1` }]);
      for (const IOREDISSON_HELD of [gone, '[null, 1]', '{', '']) {
        const end = await cli(['run', name, '--', 'echo', 'in'], { env: { IOREDISSON_HELD } });
        expect(end, IOREDISSON_HELD).to.include({ code: 0, stdout: 'in\n', stderr: '' });
      }
    });

    it('a user who may not look at the lock is told by its name', async () => {
      const server = trackClient(await RedisServer.start());
      const redis = observer(server.url);
      const rights = [
        '~*',
        '&*',
        '+@all',
        '-type',
        '-client|list',
        '-hgetall',
        '-exists',
        '-pttl',
        '-hgetall',
        '-object',
      ];
      await redis.call('acl', 'setuser', 'blind', 'reset', 'on', '>open', ...rights);
      const url = server.url.replace('redis://', 'redis://blind:open@');
      const name = uniqueName();
      const end = await cli([
        'run',
        '-u',
        server.url,
        name,
        '--',
        'sh',
        '-c',
        nested('-u', url, name, '--', 'echo', 'in'),
      ]);
      expect(end).to.include({ code: 64, stdout: '' });
    });
  });

  for (const [kind, data] of [
    ['lock', /^\{"[0-9a-f-]{36}:\d+":"1"\}$/],
    ['fair', /^\{"[0-9a-f-]{36}:\d+":"1"\}$/],
    ['spin', /^\{"[0-9a-f-]{36}:\d+":"1"\}$/],
    ['read', /^\{"mode":"read","[0-9a-f-]{36}:\d+":"1"\}$/],
    ['write', /^\{"mode":"write","[0-9a-f-]{36}:\d+:write":"1"\}$/],
  ] as const) {
    it(`-t ${kind}: takes that kind of lock`, async () => {
      const name = uniqueName();
      const held = CliProcess.start(['run', '-t', kind, name, '--', 'sh', '-c', STAYS]);
      await held.prints(/inside/);
      expect(JSON.stringify(await observer().hgetall(name))).to.match(data);
      held.signal('SIGTERM');
      expect((await held.ended).code).to.equal(143);
      expect(await observer().exists(name)).to.equal(0);
    });
  }

  it('exits 128+n when a signal killed the command', async () => {
    expect((await cli(['run', uniqueName(), '--', 'sh', '-c', 'kill -KILL $$'])).code).to.equal(137);
    expect((await cli(['run', uniqueName(), '--', 'sh', '-c', 'kill -USR1 $$'])).code).to.equal(138);
  });

  it('exits 127 and 126 where a shell would, in one line, and gives the lock back', async () => {
    const name = uniqueName();
    const file = path.join(scratchFolder(), 'not-executable');
    fs.writeFileSync(file, 'echo in');
    const missing = await cli(['run', name, '--', 'no-such-command-here']);
    expect(missing).to.include({ code: 127, stderr: 'ioredisson: no-such-command-here: command not found\n' });
    const forbidden = await cli(['run', name, '--', file]);
    expect(forbidden).to.include({ code: 126, stderr: `ioredisson: ${file}: cannot be executed: permission denied\n` });
    expect(await observer().exists(name)).to.equal(0);
  });

  it('exits 65 when the name belongs to other data, and leaves them alone', async () => {
    const name = uniqueName();
    const redis = observer();
    await redis.set(name, 'data');
    const end = await cli(['run', name, '--', 'echo', 'in']);
    expect(end).to.include({ code: 65, stdout: '' });
    expect(end.stderr).to.match(/^ioredisson: [^\n]*WRONGTYPE[^\n]*\n$/);
    expect(await redis.getdel(name)).to.equal('data');
  });
});
