// Ids in titles: test/README.md
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { monitor, RedisServer, trackClient } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, COMMAND, TIMEOUT_MS } from './support/CliProcess';
import { observer } from './support/world';
import { needTerminal } from './support/needs';

const OWNER = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:42';
const ENTERED = '\u001b[?1049h';
const LEFT = '\u001b[?1049l';

describe('ioredisson top', function () {
  this.timeout(2 * TIMEOUT_MS);

  let server: RedisServer;

  before(() => ensureBuilt());

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    await redis.hset('watched', OWNER, 1);
    // It would try to come back in the test that kills the server.
    redis.disconnect();
  });

  function start(...args: string[]): CliProcess {
    return CliProcess.start(['top', '-u', server.url, ...args]);
  }

  /** Runs it on a terminal of its own, which script(1) of util-linux makes. */
  function startOnTerminal(term = 'xterm', prepare = 'true'): CliProcess {
    const line = `${prepare}; '${process.execPath}' '${COMMAND}' top -i 50ms -u ${server.url}`;
    return CliProcess.startWith('script', ['-qec', line, '/dev/null'], { env: { TERM: term } });
  }

  it('without a terminal: prints a frame at each look', async () => {
    const { stdout, code } = await cli(['top', '--count', '2', '-i', '10ms', '-u', server.url]);
    expect(code).to.equal(0);
    expect(stdout.match(/^ioredisson top /gm)).to.have.lengthOf(2);
    expect(stdout.match(new RegExp(`^watched +no-expiry +gone +0 +none +lock +1 +${OWNER}$`, 'gm'))).to.have.lengthOf(
      2,
    );
    expect(stdout).to.not.contain('\u001b').and.to.not.contain('q to quit');
  });

  it('shows what matches only', async () => {
    await observer(server.url).hset('other', OWNER, 1);
    const { stdout } = await cli(['top', 'o*', '--count', '1', '-u', server.url]);
    expect(stdout).to.contain('other').and.not.to.contain('watched ');
  });

  it('a keyspace that takes long to walk over takes several looks', async () => {
    const redis = observer(server.url);
    const pipeline = redis.pipeline();
    for (let i = 0; i < 5_000; i++) pipeline.set(`other:${i}`, 'x');
    await pipeline.exec();
    const scans = async (...options: string[]): Promise<number> => {
      const seen = await monitor(server.url, ({ name }) => name === 'scan');
      await cli(['top', '--count', '3', '-u', server.url, ...options]);
      const names = await seen.sentNames();
      seen.stop();
      return names.length;
    };
    // A page at least, and no more when the time is over.
    expect(await scans('-i', '1ms')).to.equal(3);
    // All in one look: 5000 keys are 5 pages, and a little more.
    expect(await scans('-i', '60s', '--count', '1')).to.be.within(5, 8);
  });

  it('ends at once for a signal, and for Ctrl-C with 0', async () => {
    for (const [signal, code] of [
      ['SIGINT', 0],
      ['SIGTERM', 143],
    ] as const) {
      const top = start('-i', '1h');
      await top.prints(/watched/);
      top.signal(signal);
      expect((await top.ended).code).to.equal(code);
    }
  });

  it('exits 69 without a terminal when Redis is gone', async () => {
    const top = start('-i', '10ms');
    await top.prints(/watched/);
    await server.kill();
    const end = await top.ended;
    expect(end.code).to.equal(69);
    expect(end.stderr).to.match(/^ioredisson: [^\n]+\n$/);
  });

  it('B8: q ends it at once while Redis answers nothing', async function () {
    needTerminal(this);
    const top = startOnTerminal();
    await top.prints(/watched/);
    server.pause();
    // A look is under way from now on, and stays so.
    await sleep(500);
    const typedAt = performance.now();
    top.type('q');
    expect((await top.ended).code).to.equal(0);
    expect(performance.now() - typedAt).to.be.lessThan(1_500);
  });

  it('B8: with thousands of locks it draws what fits, and q ends it at once', async function () {
    needTerminal(this);
    const redis = observer(server.url);
    const pipeline = redis.pipeline();
    for (let i = 0; i < 6_000; i++) pipeline.hset(`lock:${i}`, OWNER, 1);
    await pipeline.exec();
    redis.disconnect();
    const top = startOnTerminal('xterm', 'stty rows 10 cols 100');
    await top.prints(/6001 object/);
    const typedAt = performance.now();
    top.type('q');
    const { code, stdout } = await top.ended;
    expect(code).to.equal(0);
    expect(performance.now() - typedAt).to.be.lessThan(1_500);
    const frame = /6001 object[^]*?\u001b\[J/.exec(stdout)![0];
    expect(frame.match(/aaaaaaaa-bbbb/g)).to.have.lengthOf(7);
  });

  it('D7: at 80 columns process and verdict are there, whatever the names are; the oldest wait, too', async function () {
    needTerminal(this);
    const redis = observer(server.url);
    await redis.hset(`order:${'x'.repeat(300)}:4711`, OWNER, 1);
    await redis.hset('held', 'bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee:4294967303', 1);
    await redis.pexpire('held', 60_000);
    const listener = observer(server.url);
    await listener.subscribe('redisson_lock__channel:{held}');
    await listener
      .client('SETNAME', 'ioredisson:bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee:checkout-7f9c:21')
      .catch(() => undefined);
    const top = startOnTerminal('xterm', 'stty rows 20 cols 80');
    await top.prints(/1 for \d/);
    top.type('q');
    const { stdout } = await top.ended;
    listener.disconnect();
    const frame = stdout.slice(stdout.lastIndexOf('ioredisson top'));
    const lines = frame.replace(/\u001b\[[^A-Za-z]*[A-Za-z]/g, '').split(/\r*\n/);
    for (const line of lines) expect(line.length).to.be.at.most(80);
    expect(lines.find((line) => line.startsWith('NAME'))).to.match(/VERDICT +PROCESS +WAITERS +TTL/);
    expect(lines.find((line) => line.startsWith('order:xxx'))).to.match(/^order:x+…x*:4711 +no-expiry +\S/);
    expect(lines.find((line) => line.startsWith('held'))).to.match(/ 1 for \d+\.\d s/);
  });

  it('B13: a terminal that knows no escapes gets frames, as a file does', async function () {
    needTerminal(this);
    const top = startOnTerminal('dumb');
    await top.prints(/watched[^]*watched/);
    top.signal('SIGTERM');
    expect((await top.ended).stdout).not.to.contain('\u001b');
  });

  for (const [what, keys] of [
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ] as const) {
    it(`on a terminal: a live view on its second screen, ended by ${what}`, async function () {
      needTerminal(this);
      const top = startOnTerminal();
      await top.prints(/watched/);
      await top.prints(/watched[^]*watched/);
      top.type(keys);
      const { code, stdout } = await top.ended;
      expect(code).to.equal(0);
      expect(stdout.indexOf(ENTERED)).to.equal(stdout.lastIndexOf(ENTERED)).and.to.be.at.least(0);
      expect(stdout.trimEnd().endsWith(LEFT)).to.equal(true);
    });
  }
});
