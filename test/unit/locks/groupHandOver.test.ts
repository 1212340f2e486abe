// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ConnectionError } from '../../../lib/errors';
import type { Lock } from '../../../lib/locks/Lock';
import { groupValues } from '../../../lib/kinds/group';
import { fakeClock, turn } from '../../support';
import { FakeClient, leftIn, NAME, Outcome } from '../../support/fakeClient';

const HAND_OVER = 'groupLock.handOver';

for (const localHandOver of [false, true]) {
  describe(`handing over values of a group${localHandOver ? ', before Redis knows' : ''}`, () => {
    let clock: SinonFakeTimers;
    let client: FakeClient;

    beforeEach(() => {
      clock = fakeClock();
      client = new FakeClient(undefined, { localHandOver });
    });

    const of = (values: string): Lock => client.lock(NAME, client.groupOf(...values));

    async function lock(values: string, threadId: number): Promise<Outcome<void>> {
      const outcome = new Outcome(of(values).lock(-1, undefined, threadId));
      await turn();
      return outcome;
    }

    async function unlock(values: string, threadId: number): Promise<Outcome<void>> {
      const outcome = new Outcome(of(values).unlock(threadId));
      await turn();
      return outcome;
    }

    /** Who has a value: threads. */
    function holder(value: string): number | undefined {
      const [field = ''] = groupValues([value]).fields;
      const owner = client.redis.group(NAME).values.get(field)?.owner;
      return owner === undefined ? undefined : Number(owner.slice(owner.lastIndexOf(':') + 1));
    }

    function lose(value: string, to?: string): void {
      const [field = ''] = groupValues([value]).fields;
      const { values } = client.redis.group(NAME);
      values.delete(field);
      if (to !== undefined) values.set(field, { owner: to, count: 1, until: performance.now() + 1_000 });
    }

    async function expectNothingLeft(): Promise<void> {
      await clock.tickAsync(100_000);
      expect(client.redis.exists(NAME), 'values').to.equal(false);
      expect(leftIn(client, clock)).to.deep.equal([0, 0, 0, 0]);
    }

    it('is for who waits longest of those who want exactly the same: others are passed, who share none', async () => {
      await lock('ab', 1);
      await lock('c', 2);
      const waiting = [await lock('c', 3), await lock('ba', 4), await lock('ab', 5)];
      await unlock('ab', 1);
      expect(waiting.map(({ state }) => state)).to.deep.equal(['pending', 'resolved', 'pending']);
      expect([client.executor.count(HAND_OVER), client.redis.published]).to.deep.equal([1, []]);
      expect(['a', 'b', 'c'].map(holder)).to.deep.equal([4, 4, 2]);
      for (const [values, threadId] of [
        ['ab', 4],
        ['ab', 5],
        ['c', 2],
        ['c', 3],
      ] as const)
        await unlock(values, threadId);
      expect(client.executor.count(HAND_OVER)).to.equal(3);
      await expectNothingLeft();
    });

    it('passes nobody who waits for longer, for some of the values and others', async () => {
      await lock('a', 1);
      await lock('b', 9);
      const [both, one] = [await lock('ab', 2), await lock('a', 3)];
      await unlock('b', 9);
      await unlock('a', 1);
      await clock.tickAsync(10);
      expect([both.state, one.state]).to.deep.equal(['resolved', 'pending']);
      expect(client.executor.count(HAND_OVER)).to.equal(0);
      await unlock('ab', 2);
      await clock.tickAsync(10);
      expect(one.state).to.equal('resolved');
      await unlock('a', 3);
      await expectNothingLeft();
    });

    it('passes nobody for ever who wants more of the values', async () => {
      await lock('a', 1);
      const both = new Outcome(of('ab').lock(-1, undefined, 9));
      let rounds = 0;
      const loop = async (threadId: number): Promise<void> => {
        for (; both.state === 'pending' && rounds < 1_000; rounds++) {
          await of('a').lock(-1, undefined, threadId);
          await turn();
          await of('a').unlock(threadId);
        }
      };
      const loops = new Outcome(Promise.all([2, 3, 4].map(loop)));
      await turn();
      await unlock('a', 1);
      for (let i = 0; i < 2_000 && both.state === 'pending'; i++) await clock.tickAsync(1);
      expect(both.state).to.equal('resolved');
      expect(rounds).to.be.lessThan(20);
      await unlock('ab', 9);
      for (let i = 0; i < 100 && loops.state === 'pending'; i++) await clock.tickAsync(1);
      expect(loops.state).to.equal('resolved');
      await expectNothingLeft();
    });

    it('lets a thread that has some of the values not wait behind those who wait for it', async () => {
      await lock('a', 1);
      await lock('b', 2);
      const waiting = await lock('ab', 3);
      const own = await lock('ab', 1);
      await unlock('b', 2);
      await clock.tickAsync(10);
      expect([waiting.state, own.state]).to.deep.equal(['pending', 'resolved']);
      // Without a wait, too.
      expect(await of('ab').tryLock(100, -1, undefined, { threadId: 1 })).to.equal(true);
      for (const values of ['ab', 'ab', 'a']) await unlock(values, 1);
      await clock.tickAsync(10);
      expect(waiting.state).to.equal('resolved');
      await unlock('ab', 3);
      await expectNothingLeft();
    });

    it('does not happen while the thread has another set with some of the values', async () => {
      await lock('ab', 1);
      await lock('bc', 1);
      const waiting = await lock('ab', 2);
      await unlock('ab', 1);
      await clock.tickAsync(10);
      expect([waiting.state, ...['a', 'b', 'c'].map(holder)]).to.deep.equal(['pending', undefined, 1, 1]);
      expect(client.executor.count(HAND_OVER)).to.equal(0);
      await unlock('bc', 1);
      await clock.tickAsync(10);
      expect(waiting.state).to.equal('resolved');
      await unlock('ab', 2);
      await expectNothingLeft();
    });

    it('of values of which one is lost hands over none: the loss is told, and the others are free', async () => {
      await lock('ab', 1);
      const waiting = await lock('ab', 2);
      client.executor.freeze();
      const unlocked = await unlock('ab', 1);
      lose('b', 'other:1');
      client.executor.resume();
      await turn();
      expect(unlocked.error).to.have.property('message').that.matches(/not/);
      expect(client.lost.map(({ threadId }) => threadId)).to.include(localHandOver ? 2 : 1);
      expect([holder('a'), holder('b')]).to.deep.equal([undefined, 1]);
      const again = localHandOver ? await lock('ab', 2) : waiting;
      expect(again.state).to.equal('pending');
      await clock.tickAsync(1_100);
      expect(again.state).to.equal('resolved');
      await unlock('ab', 2);
      await expectNothingLeft();
    });

    it('that is repeated, and finds a part with the heir, leaves nothing to nobody', async () => {
      await lock('ab', 1);
      const waiting = await lock('ab', 2);
      const run = client.redis.run.bind(client.redis);
      let runs = 0;
      client.redis.run = (script, ...rest) => {
        if (script === HAND_OVER && ++runs === 2) lose('b', 'other:1');
        return run(script, ...rest);
      };
      if (localHandOver) {
        client.executor.fail(HAND_OVER, new ConnectionError('lost', true), { runs: true, breaks: true });
      } else client.executor.resend(HAND_OVER, { runs: true });
      await unlock('ab', 1);
      await clock.tickAsync(500);
      expect(runs).to.equal(2);
      if (localHandOver) expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([2]);
      else expect(waiting.state).to.equal('pending');
      client.subscriptions.rejectAll(() => new Error('stop'));
      await clock.tickAsync(6_000);
      expect([holder('a'), client.redis.exists(NAME)]).to.deep.equal([undefined, false]);
      await expectNothingLeft();
    });

    if (!localHandOver) return;

    it('holds nobody back who wants other values', async () => {
      await lock('a', 1);
      await lock('a', 2);
      client.executor.mute();
      await unlock('a', 1);
      const before = client.executor.count('groupLock.acquire');
      await lock('b', 3);
      await lock('a', 4);
      expect(client.executor.count('groupLock.acquire') - before, 'attempts').to.equal(1);
      client.executor.resume();
      await turn();
      for (const [values, threadId] of [
        ['b', 3],
        ['a', 2],
        ['a', 4],
      ] as const) {
        expect((await unlock(values, threadId)).state).to.equal('resolved');
      }
      await expectNothingLeft();
    });

    it('answers when Redis knows whether a thread has some of the values', async () => {
      await lock('ab', 1);
      await lock('ab', 2);
      client.executor.freeze();
      await unlock('ab', 1);
      const held = new Outcome(of('a').isHeldByThread(2));
      await turn();
      expect(held.state).to.equal('pending');
      client.executor.resume();
      await turn();
      expect(held.value).to.equal(true);
      await unlock('ab', 2);
      await expectNothingLeft();
    });
  });
}
