// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { newSendRecord, type RunOptions } from '../../../lib/connection/pending/CommandExecutor';
import { CommandError } from '../../../lib/errors';
import { Rollback, type Leftover, type RollbackExecutor, type Search } from '../../../lib/acquire/Rollback';
import { findHolds } from '../../../lib/kinds/reentrant';
import type { Script } from '../../../lib/scripts/Script';
import { fakeClock } from '../../support';

describe('Rollback', () => {
  let clock: SinonFakeTimers;
  let rollback: Rollback;
  let searches: number;
  let undos: number;
  let ended: number;
  const there = new Set<string>();
  const search: Search = { script: findHolds, what: 'search for locks' };
  const executor: RollbackExecutor = {
    connectionNumber: 0,
    slotOf: () => 0,
    run: <K extends string, A extends string, R>(
      _script: Script<K, A, R>,
      _keys: unknown,
      _args: unknown,
      options?: RunOptions<R>,
    ) => {
      searches++;
      return Promise.resolve(options!.moreKeys!.map((key) => there.has(key)) as R);
    },
  };

  beforeEach(() => {
    clock = fakeClock();
    rollback = new Rollback(executor);
    searches = undos = ended = 0;
    there.clear();
  });

  function leftover(key: string, more: Partial<Leftover> = {}): Leftover {
    return {
      unwanted: true,
      // Its connection is gone.
      sent: { ...newSendRecord(), sends: 1, connectionNumber: 5 },
      leaseMs: 30_000,
      place: { key, member: 'me' },
      search,
      undo: (newRecord) => {
        newRecord();
        undos++;
        there.delete(key);
        return Promise.resolve(false);
      },
      ended: () => ended++,
      ...more,
    };
  }

  it('A12: looks for 3000 leftovers by a few hundred commands in all, finds what comes late, and ends', async () => {
    for (let i = 0; i < 3_000; i++) rollback.undo(leftover(`${i}`), 'released');
    await clock.tickAsync(1_000);
    there.add('17').add('2999');
    await clock.tickAsync(1_500);
    expect([...there]).to.deep.equal([]);
    await clock.tickAsync(30_000);
    expect([undos, ended, clock.countTimers()]).to.deep.equal([2, 3_000, 0]);
    expect(searches).to.be.lessThan(400);
  });

  it('A12: sends at most 200 commands per second, whatever there is to undo', async () => {
    for (let i = 0; i < 3_000; i++) rollback.undo(leftover(`${i}`, { search: undefined }), 'released');
    for (let second = 0; second < 20; second++) {
      const before = undos;
      await clock.tickAsync(1_000);
      expect(undos - before).to.be.within(1, 210);
    }
    rollback.close();
    await clock.tickAsync(0);
    expect([ended, clock.countTimers()]).to.deep.equal([3_000, 0]);
  });

  it('tries on after every refusal, but not where the key holds another type', async () => {
    for (const [code, times] of [
      ['MISCONF', 3],
      ['WRONGTYPE', 1],
    ] as const) {
      undos = 0;
      const undo = () => {
        undos++;
        return Promise.reject(new CommandError('release', new Error(`${code} no`)));
      };
      rollback.undo(leftover('a', { search: undefined, undo, urgent: true }), 'released');
      await clock.tickAsync(1_000);
      expect(undos).to.equal(times);
      await clock.tickAsync(30_000);
    }
    expect([ended, clock.countTimers()]).to.deep.equal([2, 0]);
  });

  it('tries on after one that found nothing, until what comes late has been undone', async () => {
    rollback.undo(leftover('late'), 'doubtful');
    await clock.tickAsync(20_000);
    expect([undos, ended]).to.deep.equal([0, 0]);
    there.add('late');
    await clock.tickAsync(5_100);
    expect([undos, there.size]).to.deep.equal([1, 0]);
    rollback.close();
  });

  it('keeps no process alive', () => {
    clock.restore();
    const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    rollback.undo(leftover('a'), 'doubtful');
    // Node lists only the timers that keep it alive.
    expect(timers()).to.equal(before);
    rollback.close();
  });

  it('leaves alone what is taken again while it is looked for', async () => {
    let unwanted = true;
    const found = pDefer<boolean[]>();
    const { run } = executor;
    executor.run = () => found.promise as never;
    rollback.undo(
      {
        ...leftover('a'),
        get unwanted() {
          return unwanted;
        },
      },
      'doubtful',
    );
    await clock.tickAsync(1_000);
    unwanted = false;
    found.resolve([true]);
    await clock.tickAsync(1_000);
    expect(undos).to.equal(0);
    executor.run = run;
    rollback.close();
  });

  it('leaves alone what is wanted again', async () => {
    let unwanted = false;
    there.add('a');
    rollback.undo(
      {
        ...leftover('a'),
        get unwanted() {
          return unwanted;
        },
      },
      'released',
    );
    await clock.tickAsync(10_000);
    expect([searches, undos]).to.deep.equal([0, 0]);
    unwanted = true;
    await clock.tickAsync(1_000);
    expect([searches > 0, undos]).to.deep.equal([true, 1]);
    rollback.close();
  });
});
