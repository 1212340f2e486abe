// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import { freePort, RedisServer, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, TIMEOUT_MS } from './support/CliProcess';
import { REFERENCE_FILE, referenceText } from './support/reference';
import { configFile, observer } from './support/world';

/** One line, from us. */
const ONE_LINE = /^ioredisson: [^\n]+\n$/;

const COMMANDS = ['run', 'list', 'inspect', 'unlock', 'top', 'completion'];

/** @returns what points to the help that has what is right */
function helpOf(command: string): string {
  return COMMANDS.includes(command) ? `(see ioredisson ${command} --help)` : '(see ioredisson --help)';
}

describe('the command line', function () {
  this.timeout(2 * TIMEOUT_MS);

  before(() => ensureBuilt());

  describe('exits 64, with one line that points to the help, for', () => {
    const wrong: readonly (readonly string[])[] = [
      ['bogus'],
      ['run'],
      ['run', 'name'],
      ['run', 'name', '--'],
      ['run', 'name', 'command'],
      ['run', 'name', 'more', '--', 'command'],
      ['run', '--', 'command'],
      ['run', '--', '-name', 'command'],
      ['run', '--', '-name', '--'],
      ['run', '--bogus', 'name', '--', 'command'],
      ['run', '-w', 'name', '--', 'command'],
      ['run', '-w', '10parsecs', 'name', '--', 'command'],
      ['run', '-w', '-1s', 'name', '--', 'command'],
      ['run', '-l', '0', 'name', '--', 'command'],
      ['run', '--at-least', '-1', 'name', '--', 'command'],
      ['run', '--at-least', 'long', 'name', '--', 'command'],
      ['run', '--at-least', '104249991375d', 'name', '--', 'command'],
      ['run', '--grace', 'long', 'name', '--', 'command'],
      ['run', '-n', '-w', '1s', 'name', '--', 'command'],
      ['run', '-t', 'mutex', 'name', '--', 'command'],
      ['run', '-E', '256', 'name', '--', 'command'],
      ['run', '-E', 'x', 'name', '--', 'command'],
      ['run', '-u', 'redis://h', '-c', 'f', 'name', '--', 'command'],
      ['list', 'a', 'b'],
      ['inspect'],
      ['unlock', 'name'],
      ['top', '-i', '0'],
      ['top', '--count', '0'],
      ['completion'],
      ['completion', 'powershell'],
    ];
    for (const args of wrong) {
      it(args.join(' '), async () => {
        const end = await cli(args);
        expect(end).to.include({ code: 64, stdout: '' });
        expect(end.stderr).to.match(ONE_LINE).and.to.contain(helpOf(args[0]!));
      });
    }
  });

  it('run takes a name that begins with -, after a -- of its own', async () => {
    const command = ['sh', '-c', 'echo "$IOREDISSON_LOCK" "$@"', 'sh', '-n', '--'];
    for (const options of [[], ['-n'], ['-w', '10s'], ['--type=fair']]) {
      const name = `-${uniqueName()}`;
      const end = await cli(['run', ...options, '--', name, '--', ...command]);
      expect(end, options.join(' ')).to.deep.equal({ code: 0, stdout: `${name} -n --\n`, stderr: '' });
    }
  });

  it('exits 64 for a configuration that does not fit, and never shows a password', async () => {
    for (const args of [
      ['-u', 'http://user:sesame@host'],
      ['-u', 'redis://user:sesame@host:port'],
      ['-c', '/no/such/file.yaml'],
      ['-c', configFile('redis://:sesame@127.0.0.1:1', 'lockWatchdogTimeuot: 1')],
    ]) {
      const end = await cli(['run', ...args, 'name', '--', 'echo', 'in']);
      expect(end).to.include({ code: 64, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE).and.not.to.contain('sesame');
    }
  });

  it('exits 69 when Redis cannot be reached, with and without a limit to the wait', async () => {
    const config = configFile(`redis://:sesame@127.0.0.1:${await freePort()}`, 'retryAttempts: 0', 'timeout: 300');
    for (const args of [[], ['-w', '50ms'], ['-w', '20s'], ['-n']]) {
      const end = await cli(['run', '-c', config, ...args, 'name', '--', 'echo', 'in']);
      expect(end, args.join(' ')).to.include({ code: 69, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE).and.not.to.contain('sesame');
    }
    for (const args of [['list'], ['inspect', 'name'], ['unlock', '--force', 'name'], ['top', '--count', '1']]) {
      const end = await cli([...args, '-c', config]);
      expect(end, args.join(' ')).to.include({ code: 69, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE);
    }
  });

  it('exits 69 when Redis refuses the connection, and takes the password from REDIS_URL', async () => {
    const server = trackClient(await RedisServer.start({ password: 'open sesame' }));
    const without = { REDIS_URL: `redis://127.0.0.1:${server.port}` };
    const wrong = { REDIS_URL: `redis://:sesame@127.0.0.1:${server.port}` };
    for (const env of [without, wrong]) {
      const end = await cli(['run', uniqueName(), '--', 'echo', 'in'], { env });
      expect(end).to.include({ code: 69, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE).and.not.to.contain('sesame');
    }
    const right = { REDIS_URL: server.url };
    const end = await cli(['run', uniqueName(), '--', 'echo', 'in'], { env: right });
    expect(end).to.deep.equal({ code: 0, stdout: 'in\n', stderr: '' });
  });

  it('B7: exits 65 when Redis refuses to let us listen, in one line that says so', async () => {
    const server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    const rights = ['~*', 'resetchannels', '+@all'];
    await redis.call('acl', 'setuser', 'deaf', 'reset', 'on', '>open', ...rights);
    await redis.hset('name', 'somebody', 1);
    const end = await cli(['run', '-u', `redis://deaf:open@127.0.0.1:${server.port}`, 'name', '--', 'echo', 'in']);
    expect(end).to.include({ code: 65, stdout: '' });
    expect(end.stderr).to.match(ONE_LINE).and.to.contain('NOPERM');
  });

  it('exits 69 when Redis takes no answer', async () => {
    const server = trackClient(await RedisServer.start());
    const config = configFile(server.url, 'retryAttempts: 0', 'timeout: 300');
    server.pause();
    for (const args of [['-w', '50ms'], ['-n']]) {
      const end = await cli(['run', '-c', config, ...args, 'name', '--', 'echo', 'in']);
      expect(end, args.join(' ')).to.include({ code: 69, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE);
    }
  });

  it('E12: a single attempt takes no longer than the time-out, whether Redis is frozen or gone', async () => {
    const server = trackClient(await RedisServer.start());
    const config = configFile(server.url, 'timeout: 500');
    server.pause();
    for (const end of [() => undefined, () => server.kill()]) {
      await end();
      const startedAt = performance.now();
      expect(await cli(['run', '-n', '-c', config, 'name', '--', 'echo', 'in'])).to.include({ code: 69, stdout: '' });
      // The start of a process takes most of it; the waits for a connection alone were 4.5 s, and up to four of them.
      expect(performance.now() - startedAt).to.be.below(4_000);
    }
  });

  it('C11: exits 69 when Redis refuses to write, with its reply', async () => {
    const server = trackClient(await RedisServer.start());
    await observer(server.url).config('SET', 'min-replicas-to-write', '1');
    // Long enough to connect on a busy machine: what is refused is the command, not the connection.
    const config = configFile(server.url, 'retryAttempts: 0', 'timeout: 1000');
    for (const args of [['-w', '800ms'], ['-n'], []]) {
      const end = await cli(['run', '-c', config, ...args, uniqueName(), '--', 'echo', 'in']);
      expect(end, args.join(' ')).to.include({ code: 69, stdout: '' });
      expect(end.stderr).to.match(ONE_LINE).and.to.contain('NOREPLICAS');
    }
  });

  it('helps', async () => {
    for (const args of [['--help'], ['help'], ['help', 'run'], ['run', '--help'], ['top', '-h']]) {
      const end = await cli(args);
      expect(end).to.include({ code: 0, stderr: '' });
      expect(end.stdout).to.match(/^Usage: ioredisson/);
    }
    expect((await cli([])).code).to.equal(64);
    expect((await cli(['--version'])).stdout).to.match(/^\d+\.\d+\.\d+(-rc\.\d+)?\n$/);
  });

  it('is described by docs/cli.md as it is (npm run docs:cli)', () => {
    expect(fs.readFileSync(REFERENCE_FILE, 'utf8')).to.equal(referenceText());
  });
});
