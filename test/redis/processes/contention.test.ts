import { expect } from 'chai';
import { RedisServer, trackClient, uniqueName } from '../../support';
import { bareClient } from '../synchronizers/support';
import { LockProcess } from './LockProcess';

const PROCESSES = 4;
const WAITERS = 25;
/** What a client may send on behalf of a lock. */
const COMMANDS = ['eval', 'evalsha', 'subscribe', 'unsubscribe'];

/** One lock, four processes of 25 waiters each. */
describe('4 processes of 25 waiters', function () {
  this.timeout(120_000);
  let server: RedisServer;
  let processes: LockProcess[];

  before(async function () {
    server = trackClient(await RedisServer.start());
    processes = await Promise.all(Array.from({ length: PROCESSES }, () => LockProcess.start(server.url)));
    processes.forEach(trackClient);
  });

  /** Lets everybody take turns until there were so many. */
  async function contend(total: number, insideMs: number): Promise<{ turns: number[][]; count: number; sent: number }> {
    const redis = bareClient(server.url);
    const name = uniqueName();
    await redis.config('RESETSTAT');
    const done = await Promise.all(
      processes.map((one) => one.do<number[]>({ kind: 'contend', name, waiters: WAITERS, insideMs, until: total })),
    );
    const statistics = await redis.info('commandstats');
    const sent = COMMANDS.map((command) => {
      const [, calls = '0'] = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(statistics) ?? [];
      return Number(calls);
    });
    const count = Number(await redis.get(`${name}:count`));
    expect(await redis.keys(`*${name}`)).to.deep.equal([]);
    return { turns: done.map(({ value }) => value), count, sent: sent.reduce((sum, calls) => sum + calls) };
  }

  it('never lose an update, take turns, and send at most 5.5 commands per acquisition', async () => {
    const total = 4_000;
    const { turns, count, sent } = await contend(total, 0);
    const all = turns.flat();
    expect(count).to.equal(total);
    expect(all.reduce((sum, one) => sum + one)).to.equal(total);
    expect(Math.min(...all), 'turns of the one with the fewest').to.be.at.least(1);
    // Everybody takes it once more to learn that it is over.
    expect(sent / (total + PROCESSES * WAITERS), 'commands per acquisition').to.be.at.most(5.5);
    // Each process has about a quarter of the turns.
    const shares = turns.map((one) => one.reduce((sum, turn) => sum + turn) / total);
    expect(Math.min(...shares)).to.be.at.least(0.1);
  });

  it('with 5 ms inside: nobody starves, while each could have had six turns', async () => {
    const total = PROCESSES * WAITERS * 6;
    const { turns, count } = await contend(total, 5);
    expect(count).to.equal(total);
    expect(Math.min(...turns.flat()), 'turns of the one with the fewest').to.be.at.least(1);
  });
});
