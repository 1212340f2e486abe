import { expect } from 'chai';
import { hostname } from 'node:os';
import stringWidth from 'string-width';
import { type LockHold, Redisson } from '../../lib';
import { RedisServer, sleepUntil } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { CliProcess, COMMAND, TIMEOUT_MS } from './support/CliProcess';
import { needTerminal } from './support/needs';
import { observer, untilQueued, untilWaitedFor } from './support/world';

const COLUMNS = 80;
/** Long, and of characters that take two columns each. */
const LONG = `${'eu-west/orders/'.repeat(6)}注文の締め切り処理:48213`;

describe('the command on a terminal of 80 columns', function () {
  this.timeout(4 * TIMEOUT_MS);
  let server: RedisServer;
  let holder: Redisson;
  let holds: readonly LockHold[] = [];
  const waiting: Promise<unknown>[] = [];

  before(async function () {
    needTerminal(this);
    ensureBuilt();
    server = await RedisServer.start();
    holder = Redisson.create({ url: server.url, introspection: { callSites: true } });
    const redis = observer(server.url);
    // A hold that is dropped is not renewed.
    holds = [await holder.getFairLock(LONG).acquire(), await holder.getLock('short').acquire()];
    const wait = (call: Promise<unknown>): unknown => waiting.push(call.catch(() => undefined));
    wait(holder.getFairLock(LONG).acquire());
    wait(holder.getLock('short').acquire());
    await untilQueued(redis, LONG, 1);
    await untilWaitedFor(redis, 'short');
    // From five seconds on it can be asked.
    const listens = async (): Promise<boolean> =>
      ((await redis.call('PUBSUB', 'CHANNELS', 'ioredisson:client:*')) as string[]).length > 0;
    await sleepUntil(listens, { timeout: TIMEOUT_MS });
  });

  after(async () => {
    await Promise.all(holds.map((hold) => hold.unlock()));
    await holder?.shutdown();
    await Promise.all(waiting);
    await server?.stop();
  });

  /** The lines of what it prints on a terminal, which script(1) of util-linux makes. */
  async function run(...args: string[]): Promise<readonly string[]> {
    const words = args.map((one) => `'${one}'`).join(' ');
    const line = `stty cols ${COLUMNS} rows 60; '${process.execPath}' '${COMMAND}' ${words} -u ${server.url}`;
    const end = await CliProcess.startWith('script', ['-qec', line, '/dev/null'], { env: { TERM: 'dumb' } }).ended;
    return end.stdout.split(/\r*\n/);
  }

  function expectFits(lines: readonly string[]): void {
    // A word that is too long, an address, has a line of its own: a terminal breaks it, and it can still be copied.
    const wide = lines.filter((line) => stringWidth(line) > COLUMNS && /\s/.test(line));
    expect(wide).to.deep.equal([]);
  }

  it('list and top cut names by what they take on the screen', async () => {
    for (const args of [['list'], ['top', '--count', '1']]) {
      const lines = await run(...args);
      expectFits(lines);
      const text = lines.join('\n');
      expect(text).to.contain('eu-west/orders/').and.to.contain(':48213').and.to.contain(`/${process.pid} `);
    }
  });

  for (const name of [LONG, 'short']) {
    it(`inspect loses nothing: ${name === LONG ? 'a long name' : 'a short name'}`, async () => {
      const lines = await run('inspect', name);
      expectFits(lines);
      const text = lines.join('').replace(/\s/g, '');
      const whole = [name, holder.getId(), `${hostname()}/${process.pid}`, 'narrow.test.ts', 'watchdog'];
      for (const one of whole) expect(text).to.contain(one.replace(/\s/g, ''));
    });
  }

  it('doctor breaks its sentences', async () => {
    const lines = await run('doctor');
    expectFits(lines);
    expect(lines.join('\n')).to.match(/^ok +lock/m);
    // Each of them is there to its end.
    expect(lines.join(' ').replace(/\s+/g, ' ')).to.contain('appendonly yes');
  });
});
