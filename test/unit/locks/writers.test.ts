// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ConnectionError } from '../../../lib/errors';
import { clientKind } from '../../../lib/kinds/clientKind';
import { READ, WRITE } from '../../../lib/kinds/readWrite';
import type { Lock } from '../../../lib/locks/Lock';
import { fakeClock, turn } from '../../support';
import { FakeClient, NAME, Outcome } from '../../support/fakeClient';

const HAND_OVER = 'lock.handOver';
/** With so short a lease the next one is told when Redis knows it. */
const SHORT_MS = 450;
const WRITE_CHANNEL = `redisson_rwlock:{${NAME}}`;

describe('writers hand over within a process', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;
  let read: () => Lock;
  let write: () => Lock;
  let leaseMs: number;

  beforeEach(() => {
    clock = fakeClock();
    newClient();
    leaseMs = SHORT_MS;
  });

  function newClient(localHandOver = true): void {
    client = new FakeClient(undefined, { localHandOver });
    const kinds = [READ, WRITE].map((kind) => clientKind(kind, client.context));
    read = () => client.lock(NAME, kinds[0]);
    write = () => client.lock(NAME, kinds[1]);
  }

  /** Threads 1..n want to write, in this order; 1 gets it. */
  async function writers(count: number): Promise<Outcome<void>[]> {
    const locks: Outcome<void>[] = [];
    for (let threadId = 1; threadId <= count; threadId++) {
      locks.push(new Outcome(write().lock(leaseMs, undefined, threadId)));
      await turn();
    }
    return locks;
  }

  async function unlock(lock: Lock, threadId: number): Promise<Outcome<void>> {
    const outcome = new Outcome(lock.unlock(threadId));
    await turn();
    return outcome;
  }

  function states(outcomes: readonly Outcome<unknown>[]): string {
    return outcomes.map(({ state }) => state[2]).join('');
  }

  /** Who has it in Redis: threads, writers with a `w`. */
  function owners(): string[] {
    return client.redis.owners(NAME).map((owner) => owner.slice(client.id.length + 1).replace(':write', 'w'));
  }

  async function expectNothingLeft(): Promise<void> {
    await clock.tickAsync(100_000);
    expect(client.redis.exists(NAME), 'the lock').to.equal(false);
    expect([client.ownerships.size, client.subscriptions.size]).to.deep.equal([0, 0]);
    expect(clock.countTimers(), 'timers').to.equal(0);
  }

  it('in one command, without a message', async () => {
    const locks = await writers(3);
    const before = client.executor.sent.length;
    await unlock(write(), 1);
    expect([states(locks), owners()]).to.deep.equal(['ssn', ['2w']]);
    expect(client.executor.names.slice(before)).to.deep.equal([HAND_OVER]);
    expect(client.redis.published).to.deep.equal([]);
    await unlock(write(), 2);
    await unlock(write(), 3);
    await expectNothingLeft();
  });

  it('not without `localHandOver`: readers of other processes come between any two', async () => {
    newClient(false);
    const locks = await writers(2);
    await unlock(write(), 1);
    expect([states(locks), owners()]).to.deep.equal(['ss', ['2w']]);
    expect(client.executor.count(HAND_OVER)).to.equal(0);
    expect(client.redis.published).to.deep.equal([`${WRITE_CHANNEL} 1`]);
    await unlock(write(), 2);
    await expectNothingLeft();
  });

  it('not past a reader of this process that sleeps: it goes first', async () => {
    const locks = await writers(2);
    const reader = new Outcome(read().lock(-1, undefined, 9));
    await turn();
    await unlock(write(), 1);
    expect(client.executor.count(HAND_OVER)).to.equal(0);
    expect(client.redis.published).to.deep.equal([`${WRITE_CHANNEL} 1`]);
    expect([reader.state, states(locks), owners()]).to.deep.equal(['resolved', 'sn', ['9']]);
    await unlock(read(), 9);
    await clock.tickAsync(10);
    expect(states(locks)).to.equal('ss');
    await unlock(write(), 2);
    await expectNothingLeft();
  });

  it('endless writers let a reader of their process in', async () => {
    for (const short of [-1, SHORT_MS]) {
      newClient();
      leaseMs = short;
      let writes = 0;
      let before = Infinity;
      const reading = async (): Promise<void> => {
        const since = writes;
        await read().lock(-1, undefined, 9);
        before = writes - since;
        await read().unlock(9);
      };
      const loop = async (threadId: number): Promise<void> => {
        for (let i = 0; i < 50; i++) {
          await write().lock(leaseMs, undefined, threadId);
          if (++writes === 10) void reading();
          await Promise.resolve();
          await write().unlock(threadId);
        }
      };
      const loops = new Outcome(Promise.all([1, 2, 3].map(loop)));
      for (let i = 0; i < 300 && loops.state === 'pending'; i++) await clock.tickAsync(1);
      expect([loops.state, writes]).to.deep.equal(['resolved', 150]);
      expect(before, String(short)).to.be.lessThan(20);
      await expectNothingLeft();
    }
  });

  it('not by a thread that reads as well: its unlock is the downgrade', async () => {
    const locks = await writers(2);
    await read().lock(-1, undefined, 1);
    await unlock(write(), 1);
    expect(client.executor.count(HAND_OVER)).to.equal(0);
    expect([states(locks), owners()]).to.deep.equal(['sn', ['1']]);
    await unlock(read(), 1);
    await clock.tickAsync(10);
    expect([states(locks), owners()]).to.deep.equal(['ss', ['2w']]);
    await unlock(write(), 2);
    await expectNothingLeft();
  });

  it('not by a thread whose read is under way', async () => {
    const locks = await writers(2);
    client.executor.freeze();
    const reader = new Outcome(read().lock(-1, undefined, 1));
    const released = await unlock(write(), 1);
    client.executor.resume();
    await turn();
    expect([reader.state, released.state, states(locks), owners()]).to.deep.equal([
      'resolved',
      'resolved',
      'sn',
      ['1'],
    ]);
    await unlock(read(), 1);
    await clock.tickAsync(10);
    await unlock(write(), 2);
    await expectNothingLeft();
  });

  it('not to a thread whose read is under way: no message would wake its reader', async () => {
    const locks = await writers(2);
    client.executor.freeze();
    const reader = new Outcome(read().lock(-1, undefined, 2));
    await unlock(write(), 1);
    client.executor.resume();
    await clock.tickAsync(10);
    expect(client.executor.count(HAND_OVER)).to.equal(0);
    if (reader.state === 'pending') await unlock(write(), 2);
    else await unlock(read(), 2);
    await clock.tickAsync(10);
    expect([reader.state, states(locks)]).to.deep.equal(['resolved', 'ss']);
  });

  it('a reader does not hand over: there may be others', async () => {
    await read().lock(-1, undefined, 1);
    await read().lock(-1, undefined, 2);
    const writer = new Outcome(write().lock(-1, undefined, 3));
    await turn();
    await unlock(read(), 1);
    expect([writer.state, owners()]).to.deep.equal(['pending', ['2']]);
    await unlock(read(), 2);
    await clock.tickAsync(10);
    expect([writer.state, owners()]).to.deep.equal(['resolved', ['3w']]);
    expect(client.executor.count(HAND_OVER)).to.equal(0);
    await unlock(write(), 3);
    await expectNothingLeft();
  });

  it('64 times in a row at most, also where each reads under its own lock', async () => {
    await writers(70);
    for (let threadId = 1; threadId <= 65; threadId++) {
      await read().lock(-1, undefined, threadId);
      await unlock(read(), threadId);
      await unlock(write(), threadId);
    }
    expect(client.executor.count(HAND_OVER)).to.equal(64);
    expect(client.redis.published).to.deep.equal([`${WRITE_CHANNEL} 1`]);
  });

  for (const runs of [true, false]) {
    it(`the answer is lost, ${runs ? 'after' : 'before'} it ran: the former writer does not read beside the heir`, async () => {
      await writers(2);
      client.executor.fail(HAND_OVER, new ConnectionError('lost', true), { runs, breaks: true });
      client.executor.fail('writeLock.release', new ConnectionError('lost', true), { runs: false });
      client.executor.fail('writeLock.acquire', new ConnectionError('lost', true), { runs: false });
      const unlocked = write().unlock(1);
      const released = new Outcome(unlocked);
      const reader = new Outcome(unlocked.then(() => true).catch(() => read().tryLock({ threadId: 1 })));
      await turn();
      // Redis has thread 1 on record, or thread 2; and what was lost on the way may still arrive.
      expect([reader.value, released.state]).to.deep.equal([false, 'rejected']);
      const sent = client.executor.sent.find(({ name }) => name === HAND_OVER)!;
      client.redis.run(HAND_OVER, sent.keys, sent.args, []);
      expect(owners()).to.deep.equal(['2w']);
    });
  }

  it('a thread whose write lock ends before its reads under it reads on, also before Redis knows the end', async () => {
    await write().lock(1_000, undefined, 1);
    await read().lock(60_000, undefined, 1);
    // The end here is a little before that in Redis.
    await clock.tickAsync(999);
    expect(owners()).to.deep.equal(['1w', '1']);
    const again = new Outcome(read().lock(60_000, undefined, 1));
    await clock.tickAsync(100);
    expect(again.state).to.equal('resolved');
    expect(client.lost.map(({ cause }) => String(cause)).filter((text) => /re-entry/.test(text))).to.deep.equal([]);
    for (let i = 0; i < 2; i++) await unlock(read(), 1);
    await expectNothingLeft();
  });

  it('a thread that has lost its write lock reads when Redis has that no longer', async () => {
    await writers(1);
    client.ownerships.loseAll(NAME, 'as a test');
    const reader = new Outcome(read().lock(-1, undefined, 1));
    await turn();
    expect([reader.state, owners()]).to.deep.equal(['pending', ['1w']]);
    await unlock(write(), 1);
    await clock.tickAsync(10);
    expect([reader.state, owners()]).to.deep.equal(['resolved', ['1']]);
    await unlock(read(), 1);
    await expectNothingLeft();
  });

  describe('before Redis knows', () => {
    beforeEach(() => (leaseMs = -1));

    it('one command covers all who had it meanwhile', async () => {
      const locks = await writers(4);
      client.executor.mute();
      const unlocks = [await unlock(write(), 1), await unlock(write(), 2), await unlock(write(), 3)];
      expect([states(locks), states(unlocks)]).to.deep.equal(['ssss', 'nnn']);
      client.executor.resume();
      await turn();
      expect([states(unlocks), owners()]).to.deep.equal(['sss', ['4w']]);
      expect(client.executor.count(HAND_OVER)).to.equal(2);
      await unlock(write(), 4);
      await expectNothingLeft();
    });

    it('the former writer, whom Redis has on record, is not let in as a reader', async () => {
      const locks = await writers(2);
      client.executor.freeze();
      await unlock(write(), 1);
      expect(states(locks)).to.equal('ss');
      const attempt = new Outcome(read().tryLock({ threadId: 1 }));
      const reader = new Outcome(read().lock(-1, undefined, 3));
      await turn();
      client.executor.resume();
      await turn();
      expect([attempt.value, reader.state, owners()]).to.deep.equal([false, 'pending', ['2w']]);
      await unlock(write(), 2);
      await clock.tickAsync(10);
      expect(reader.state).to.equal('resolved');
      await unlock(read(), 3);
      await expectNothingLeft();
    });

    it('a read of the former writer that is sent before the command runs is refused', async () => {
      await writers(2);
      client.executor.fail(HAND_OVER, new ConnectionError('lost', true), { runs: false, breaks: true });
      const released = await unlock(write(), 1);
      expect([released.state, owners()]).to.deep.equal(['rejected', ['1w']]);
      const attempt = new Outcome(read().tryLock({ threadId: 1 }));
      await turn();
      expect([attempt.value, owners()]).to.deep.equal([false, ['1w']]);
      await clock.tickAsync(1_000);
      expect(owners()).to.deep.equal(['2w']);
      await unlock(write(), 2);
      await expectNothingLeft();
    });

    it('the heir reads under its own lock as soon as Redis knows it', async () => {
      await writers(2);
      client.executor.freeze();
      await unlock(write(), 1);
      const reader = new Outcome(read().tryLock({ threadId: 2 }));
      await turn();
      expect([reader.state, client.executor.count('readLock.acquire')]).to.deep.equal(['pending', 0]);
      client.executor.resume();
      await turn();
      expect([reader.value, owners()]).to.deep.equal([true, ['2w', '2']]);
      await unlock(write(), 2);
      expect(owners()).to.deep.equal(['2']);
      await unlock(read(), 2);
      await expectNothingLeft();
    });

    it('the wait of such a read ends in time', async () => {
      await writers(2);
      client.executor.freeze();
      await unlock(write(), 1);
      const reader = new Outcome(read().tryLock(50, undefined, undefined, { threadId: 2 }));
      await clock.tickAsync(50);
      expect(reader.value).to.equal(false);
      client.executor.resume();
      await turn();
      await unlock(write(), 2);
      await expectNothingLeft();
    });

    it('an heir that gives the lock back while its read waits is a reader like others', async () => {
      const locks = await writers(3);
      client.executor.freeze();
      await unlock(write(), 1);
      const reader = new Outcome(read().lock(-1, undefined, 2));
      await turn();
      await unlock(write(), 2);
      client.executor.resume();
      await clock.tickAsync(10);
      expect(owners().join()).to.match(/^(3w|2)$/);
      if (reader.state === 'pending') await unlock(write(), 3);
      await clock.tickAsync(10);
      expect(reader.state).to.equal('resolved');
      await unlock(read(), 2);
      await clock.tickAsync(100);
      if (owners().includes('3w')) await unlock(write(), 3);
      expect(states(locks)).to.equal('sss');
      await expectNothingLeft();
    });

    it('a reader of this process ends the chain', async () => {
      const locks = await writers(4);
      client.executor.freeze();
      await unlock(write(), 1);
      const reader = new Outcome(read().lock(-1, undefined, 9));
      await turn();
      await unlock(write(), 2);
      expect(states(locks)).to.equal('ssnn');
      client.executor.resume();
      await turn();
      expect([reader.state, states(locks), owners()]).to.deep.equal(['resolved', 'ssnn', ['9']]);
      await unlock(read(), 9);
      await clock.tickAsync(10);
      await unlock(write(), 3);
      await unlock(write(), 4);
      expect(states(locks)).to.equal('ssss');
      await expectNothingLeft();
    });
  });
});
