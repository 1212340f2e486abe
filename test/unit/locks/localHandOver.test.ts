// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ConnectionError, NoSyncedReplicasError, UnsupportedOperationError } from '../../../lib/errors';
import type { LockHold } from '../../../lib/api';
import { fakeClock, turn } from '../../support';
import { CHANNEL, FakeClient, type FakeSettings, NAME, Outcome } from '../../support/fakeClient';

for (const values of [undefined, ['v'], ['v', 'w']]) {
  const scripts = values === undefined ? 'lock' : 'groupLock';
  const HAND_OVER = `${scripts}.handOver`;
  const title = values === undefined ? 'a lock' : `${values.length} of a group`;
  describe(`passing ${title} on before Redis knows`, () => {
    let clock: SinonFakeTimers;
    let client: FakeClient;

    beforeEach(() => {
      clock = fakeClock();
      client = newClient();
    });

    function newClient(settings: FakeSettings = {}): FakeClient {
      return new FakeClient(undefined, { localHandOver: true, ...settings }, values);
    }

    /** Threads 1..n ask in this order; 1 gets it. */
    async function contenders(count: number, leaseMs = -1): Promise<Outcome<void>[]> {
      const locks: Outcome<void>[] = [];
      for (let threadId = 1; threadId <= count; threadId++) {
        locks.push(new Outcome(client.lock().lock(leaseMs, undefined, threadId)));
        await turn();
      }
      return locks;
    }

    async function unlock(threadId: number): Promise<Outcome<void>> {
      const outcome = new Outcome(client.lock().unlock(threadId));
      await turn();
      return outcome;
    }

    function states(outcomes: readonly Outcome<unknown>[]): string {
      return outcomes.map(({ state }) => state[2]).join('');
    }

    /** From whom to whom the lock was moved in Redis: threads. */
    function moves(): string[] {
      const thread = (owner: string | undefined): string => owner!.slice(owner!.lastIndexOf(':') + 1);
      return client.executor.sent
        .filter(({ name }) => name === HAND_OVER)
        .map(({ args }) => `${thread(args['owner'])}>${thread(args['heir'])}`);
    }

    /** Nothing is left of anybody, once the undos have had their time. */
    async function expectNothingLeft(): Promise<void> {
      await clock.tickAsync(100_000);
      expect(client.redis.exists(NAME), 'the lock').to.equal(false);
      expect([client.ownerships.size, client.subscriptions.size]).to.deep.equal([0, 0]);
      expect(clock.countTimers(), 'timers').to.equal(0);
    }

    describe('while the command is under way', () => {
      it('lets the next waiter in at once, and one command covers all who had it meanwhile', async () => {
        const locks = await contenders(4);
        client.executor.mute();
        const unlocks = [await unlock(1)];
        expect(states(locks)).to.equal('sspp'.replace(/p/g, 'n'));
        unlocks.push(await unlock(2), await unlock(3));
        expect(states(locks)).to.equal('ssss');
        expect(states(unlocks)).to.equal('nnn');
        client.executor.resume();
        await turn();
        expect(states(unlocks)).to.equal('sss');
        expect(moves()).to.deep.equal(['1>2', '2>4']);
        expect(client.redis.owners(NAME)).to.deep.equal([client.owner(4)]);
        expect(client.redis.published).to.deep.equal([]);
        await unlock(4);
        await expectNothingLeft();
      });

      it('an unlock waits for the command that covers it, not for the one before', async () => {
        await contenders(3);
        client.executor.freeze();
        const first = await unlock(1);
        const second = await unlock(2);
        client.executor.resume();
        client.executor.freeze();
        await turn();
        expect([first.state, second.state]).to.deep.equal(['resolved', 'pending']);
        expect(moves()).to.deep.equal(['1>2', '2>3']);
        client.executor.resume();
        await turn();
        expect(second.state).to.equal('resolved');
        await unlock(3);
        await expectNothingLeft();
      });

      it('a thread that has not been told yet is not the next one: nothing goes in a circle', async () => {
        await contenders(2);
        client.executor.mute();
        const first = await unlock(1);
        const again = new Outcome(client.lock().lock(-1, undefined, 1));
        await turn();
        const second = await unlock(2);
        expect([first.state, again.state, second.state]).to.deep.equal(['pending', 'pending', 'pending']);
        client.executor.resume();
        await clock.tickAsync(10);
        expect([first.state, again.state, second.state]).to.deep.equal(['resolved', 'resolved', 'resolved']);
        for (const move of moves()) expect(move).to.match(/^(\d)>(?!\1)/);
        expect(client.redis.owners(NAME)).to.deep.equal([client.owner(1)]);
        await unlock(1);
        await expectNothingLeft();
      });

      it('the holder re-enters, counts, extends and detaches when Redis knows it', async () => {
        await contenders(1);
        const waiting = client.lock().acquire({ threadId: 2 });
        await turn();
        client.executor.mute();
        await unlock(1);
        const hold: LockHold = await waiting;
        const calls = [
          new Outcome(client.lock().tryLock({ threadId: 2 })),
          new Outcome(client.lock().isHeldByThread(2)),
        ];
        await turn();
        const extended = new Outcome(hold.extend(60_000));
        await turn();
        expect(client.executor.names.slice(-1)).to.deep.equal([HAND_OVER]);
        client.executor.resume();
        await turn();
        expect(calls.map(({ value }) => value)).to.deep.equal([true, true]);
        expect([extended.state, client.redis.holds(NAME, client.owner(2))]).to.deep.equal(['resolved', 2]);
        expect(client.redis.pttl(NAME)).to.equal(60_000);
        await unlock(2);
        await unlock(2);
        await expectNothingLeft();
      });

      it('a hold that moves to a ticket moves when Redis knows it; one of values does not move', async () => {
        await contenders(1);
        const waiting = client.lock().acquire({ threadId: 2 });
        await turn();
        client.executor.freeze();
        await unlock(1);
        const hold: LockHold = await waiting;
        const ticket = new Outcome(hold.detach());
        await turn();
        if (values !== undefined) {
          expect(ticket.error).to.be.instanceOf(UnsupportedOperationError);
          expect(hold.isHeld).to.equal(true);
          return;
        }
        expect([ticket.state, client.executor.count(HAND_OVER)]).to.deep.equal(['pending', 1]);
        client.executor.resume();
        await turn();
        expect([ticket.state, client.lost.length]).to.deep.equal(['resolved', 0]);
        expect(client.redis.exists(NAME)).to.equal(true);
      });

      it('neither a check after a reconnect nor a renewal looks for the holder under its name', async () => {
        await contenders(2);
        client.executor.freeze();
        await unlock(1);
        client.watchdog.doubt(client.ownerships.all());
        client.watchdog.renewNow();
        await clock.tickAsync(15_000);
        expect(client.executor.count(`${scripts}.renew`)).to.equal(0);
        client.executor.resume();
        await turn();
        expect(client.lost).to.deep.equal([]);
        await clock.tickAsync(11_000);
        expect(client.executor.count(`${scripts}.renew`)).to.equal(1);
        await unlock(2);
        await expectNothingLeft();
      });

      it('a waiter that gives up at the same moment hands on what it has just got', async () => {
        await contenders(1);
        const stop = new AbortController();
        const second = new Outcome(client.lock().lock(-1, undefined, { threadId: 2, signal: stop.signal }));
        const third = new Outcome(client.lock().lock(-1, undefined, 3));
        await turn();
        client.executor.mute();
        const first = new Outcome(client.lock().unlock(1));
        stop.abort(new Error('stop'));
        await turn();
        expect(second.error).to.have.property('message', 'stop');
        client.executor.resume();
        await turn();
        expect([first.state, third.state]).to.deep.equal(['resolved', 'resolved']);
        expect(client.redis.owners(NAME)).to.deep.equal([client.owner(3)]);
        await unlock(3);
        await expectNothingLeft();
      });

      it('a waiter that gives up as the last one leaves no lock behind', async () => {
        await contenders(2);
        const stop = new AbortController();
        const third = new Outcome(client.lock().lock(-1, undefined, { threadId: 3, signal: stop.signal }));
        await turn();
        client.executor.freeze();
        const unlocks = [await unlock(1)];
        const second = new Outcome(client.lock().unlock(2));
        stop.abort(new Error('stop'));
        await turn();
        client.executor.resume();
        await turn();
        expect([states(unlocks), second.state, third.state]).to.deep.equal(['s', 'resolved', 'rejected']);
        expect(client.redis.exists(NAME)).to.equal(false);
        await expectNothingLeft();
      });

      it('a shutdown takes back what was given back, although its command has not been sent', async () => {
        await contenders(2);
        client.executor.mute();
        await unlock(1);
        const second = await unlock(2);
        const cleanups: string[] = [];
        const { kind } = client;
        client.executor.run = ((_: unknown, _keys: unknown, args: () => { owner: string }, options: never) => {
          if ((options as { sendRecord?: { cleanup?: boolean } }).sendRecord?.cleanup === true)
            cleanups.push(args().owner);
          return Promise.resolve({ kind: 'released', receivers: 0 });
        }) as never;
        await client.shutdown();
        await turn();
        expect(second.state).to.equal('rejected');
        // The former owner first: the command may still run between the two.
        expect(cleanups).to.deep.equal([kind.ownerOf(1), kind.ownerOf(2)]);
      });
    });

    it('gives the heir its own lease, once Redis knows it; until then that of its predecessor counts', async () => {
      await client.lock().lock(5_000, undefined, 1);
      const second = new Outcome(client.lock().lock(6_000, undefined, 2));
      await turn();
      await clock.tickAsync(10);
      client.executor.freeze();
      await unlock(1);
      expect(second.state).to.equal('resolved');
      await clock.tickAsync(4_990);
      expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([2]);
      client.executor.resume();
      await expectNothingLeft();

      client = newClient();
      await client.lock().lock(5_000, undefined, 1);
      const heir = new Outcome(client.lock().lock(6_000, undefined, 2));
      await turn();
      await unlock(1);
      expect([heir.state, client.redis.pttl(NAME)]).to.deep.equal(['resolved', 6_000]);
      await clock.tickAsync(5_900);
      expect(client.lost).to.deep.equal([]);
      await clock.tickAsync(100);
      expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([2]);
    });

    it('counts on the shorter lease as soon as that is on its way', async () => {
      await client.lock().lock(2_000, undefined, 1);
      const heirs = [1_500, 2_000].map((leaseMs, i) => new Outcome(client.lock().lock(leaseMs, undefined, i + 2)));
      await turn();
      client.executor.freeze();
      await unlock(1);
      await unlock(2);
      expect(states(heirs)).to.equal('ss');
      await clock.tickAsync(1_500);
      expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([3]);
      client.executor.resume();
      await expectNothingLeft();
    });

    describe('does not happen', () => {
      /** Thread 1 unlocks; whether thread 2 is in before that is answered. */
      async function passes(): Promise<boolean> {
        client.executor.freeze();
        await unlock(1);
        const inside = [...client.ownerships.all()].some(({ threadId, holds }) => threadId === 2 && holds.length > 0);
        client.executor.resume();
        await turn();
        return inside;
      }

      it('by default', async () => {
        client = newClient({ localHandOver: false });
        await contenders(2);
        expect(await passes()).to.equal(false);
      });

      for (const [leaseMs, is] of [
        [520, true],
        [450, false],
      ] as const) {
        it(`with less than 500 ms left: ${leaseMs} ms, so ${is}`, async () => {
          await contenders(2, leaseMs);
          expect(await passes()).to.equal(is);
        });
      }

      it('to a waiter that wants it for less than 500 ms', async () => {
        await client.lock().lock(520, undefined, 1);
        void client.lock().lock(450, undefined, 2);
        await turn();
        expect(await passes()).to.equal(false);
      });

      for (const [ageMs, is] of [
        [25, true],
        [26, false],
      ] as const) {
        it(`where Redis confirmed the lease more than 25 ms ago: ${ageMs} ms, so ${is}`, async () => {
          // A turn has 20 ms.
          await client.lock().lock(-1, undefined, 1);
          await clock.tickAsync(10);
          void client.lock().lock(-1, undefined, 2);
          await turn();
          await clock.tickAsync(ageMs - 10);
          expect(await passes()).to.equal(is);
        });
      }

      it('where it may not hand over at all', async () => {
        client = newClient({ maxHandOvers: 0 });
        await contenders(2);
        expect(await passes()).to.equal(false);
      });
    });

    it('ends its turn after 64 hand-overs, also where its queue runs empty in between', async () => {
      const loop = async (threadId: number): Promise<void> => {
        for (let i = 0; i < 100; i++) {
          await client.lock().lock(-1, undefined, threadId);
          await Promise.resolve();
          await client.lock().unlock(threadId);
        }
      };
      const loops = new Outcome(Promise.all([loop(1), loop(2)]));
      for (let i = 0; i < 300 && loops.state === 'pending'; i++) await turn();
      await clock.tickAsync(100);
      expect(loops.state).to.equal('resolved');
      expect(client.executor.count(HAND_OVER), 'hand-overs').to.be.greaterThan(30);
      // 200 acquisitions are three turns at least.
      expect(client.redis.published.filter((text) => text === `${CHANNEL} 0`).length).to.be.within(3, 60);
      await expectNothingLeft();
    });

    it('whose callers are told together and ask again send one attempt', async () => {
      await contenders(6);
      client.executor.mute();
      const again: Outcome<void>[] = [];
      for (let threadId = 1; threadId <= 6; threadId++) {
        const next = client
          .lock()
          .unlock(threadId)
          .then(() => client.lock().lock(-1, undefined, threadId));
        again.push(new Outcome(next));
        await turn();
      }
      const before = client.executor.count(`${scripts}.acquire`);
      client.executor.resume();
      await clock.tickAsync(1);
      expect(states(again).match(/s/g)).to.deep.equal(['s']);
      expect(client.executor.count(`${scripts}.acquire`) - before).to.be.at.most(1);
      // The first of those who ask again gets it, before it would be released.
      expect(client.executor.count(`${scripts}.release`)).to.equal(0);
    });

    describe('when it goes wrong', () => {
      for (const runs of [true, false]) {
        it(`its answer is lost, ${runs ? 'after' : 'before'} it ran: the heir keeps the lock, nobody takes it back`, async () => {
          const locks = await contenders(2);
          const error = new ConnectionError('lost', true);
          client.executor.fail(HAND_OVER, error, { runs, breaks: true, times: 3 });
          const first = await unlock(1);
          expect([first.state, locks[1]!.state]).to.deep.equal(['rejected', 'resolved']);
          // Redis may still have it under this name: asking again must not let it in.
          const again = new Outcome(client.lock().tryLock({ threadId: 1 }));
          await turn();
          expect([again.state, client.redis.exists(NAME)]).to.deep.equal(['pending', true]);
          await clock.tickAsync(2_000);
          expect([again.value, client.redis.owners(NAME)]).to.deep.equal([false, [client.owner(2)]]);
          expect(moves()).to.deep.equal(['1>2', '1>2', '1>2', '1>2']);
          expect(client.lost).to.deep.equal([]);
          expect((await unlock(2)).state).to.equal('resolved');
          await expectNothingLeft();
        });

        it(`its answer is lost, ${runs ? 'after' : 'before'} it ran, and the heir has gone: it is released`, async () => {
          await contenders(2);
          client.executor.fail(HAND_OVER, new ConnectionError('lost', true), { runs, breaks: true });
          await unlock(1);
          const second = await unlock(2);
          await clock.tickAsync(1_000);
          expect([second.state, client.redis.exists(NAME)]).to.deep.equal(['resolved', false]);
          await expectNothingLeft();
        });

        it(`Redis is out of reach until the lease ends, and ${runs ? 'has' : 'has not'} run it: lost, and undone`, async () => {
          await contenders(2);
          client.executor.fail(HAND_OVER, new ConnectionError('lost', true), { runs, times: 1_000 });
          await unlock(1);
          await clock.tickAsync(31_000);
          expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([2]);
          await expectNothingLeft();
        });
      }

      it('no replica has confirmed it: the heir loses the lock, the holder has given it back', async () => {
        await contenders(3);
        client.executor.fail(HAND_OVER, new NoSyncedReplicasError('hand over', 1_000), { runs: true });
        const first = await unlock(1);
        await clock.tickAsync(10);
        expect([first.state, client.lost.map(({ threadId }) => threadId)]).to.deep.equal(['resolved', [2]]);
        expect(client.redis.owners(NAME)).to.deep.equal([client.owner(3)]);
        await unlock(3);
        await expectNothingLeft();
      });

      it('the lock was taken away: the holder learns it by the command, and so do all that it covers', async () => {
        await contenders(4);
        client.executor.freeze();
        const unlocks = [await unlock(1), await unlock(2)];
        client.redis.seize(NAME, 'other', 1_000);
        client.executor.resume();
        await turn();
        expect(client.lost.map(({ threadId }) => threadId)).to.include(3);
        expect(states(unlocks)).to.equal('jj');
        expect(client.redis.owners(NAME)).to.deep.equal(['other']);
        await clock.tickAsync(1_000);
        expect(client.redis.owners(NAME)).to.deep.equal([client.owner(4)]);
        await unlock(4);
        await expectNothingLeft();
      });

      it('this client forces the lock open: the holder is told at once, and gives back nothing of the next owner', async () => {
        await contenders(2);
        client.executor.freeze();
        await unlock(1);
        const forced = new Outcome(client.lock().forceUnlock());
        client.executor.resume();
        await turn();
        expect([forced.value, client.lost.map(({ threadId }) => threadId)]).to.deep.equal([true, [2]]);
        client.redis.seize(NAME, 'other', 1_000);
        expect((await unlock(2)).state).to.equal('rejected');
        expect(client.redis.owners(NAME)).to.deep.equal(['other']);
      });
    });
  });
}
