import { expect } from 'chai';
import { SimStore } from '../server/SimStore';
import { EPOCH, Loop } from '../engine/Loop';
import { type HoldRecord, Oracle } from './Oracle';

describe('holds at a master that was replaced', () => {
  const HOLD: HoldRecord = { server: 'r0', name: 'lock', fields: ['owner'] };

  /** @param ends - when the hold ends by the data of each, in ms of the world; `undefined`: it is not there */
  function oracle(former: number | undefined, got: number | undefined, seenAt: number): Oracle {
    const loop = new Loop(1);
    const judge = new Oracle(loop);
    const storeOf = (end: number | undefined): SimStore => {
      const store = new SimStore(() => Math.floor(EPOCH + loop.now));
      if (end === undefined) return store;
      store.put('lock', new Map([['owner', '1']]));
      store.expireIn('lock', end);
      return store;
    };
    const [old, successor] = [storeOf(former), storeOf(got)];
    loop.now = 1_500;
    judge.replaced('r0', old, successor);
    loop.now = seenAt;
    return judge;
  }

  it('are excused as long as the last renewal there lasts, once they have ended at the successor', () => {
    expect(oracle(6_000, 2_000, 3_000).misled(HOLD)).to.equal(true);
  });

  it('are excused if the renewals that the successor had got were over when it took over', () => {
    expect(oracle(6_000, 1_000, 3_000).misled(HOLD)).to.equal(true);
  });

  it('are not excused for longer than that', () => {
    expect(oracle(6_000, 2_000, 6_001).misled(HOLD)).to.equal(false);
  });

  it('are not excused while the successor must still know them', () => {
    expect(oracle(6_000, 4_000, 3_000).misled(HOLD)).to.equal(false);
  });

  it('are excused if their key had been moved there, and the successor has not got it', () => {
    const loop = new Loop(1);
    const judge = new Oracle(loop);
    const store = new SimStore(() => EPOCH);
    loop.now = 1_000;
    judge.token('c0/a', 7n, 0);
    judge.token('c0/b', 7n, 0);
    judge.replaced('c0', store, store, ['redisson_lock_token:{a}']);
    expect([judge.lastLoss('c0', 'a'), judge.lastLoss('c0', '{a}'), judge.lastLoss('c0', 'b')]).to.deep.equal([
      1_000, 1_000, -1,
    ]);
    loop.now = 2_000;
    judge.token('c0/a', 1n, 1_500);
    expect(judge.violations).to.deep.equal([]);
    judge.token('c0/b', 1n, 1_500);
    expect(judge.violations).to.have.length(1);
  });

  it('are excused if the successor has lost its data', () => {
    const judge = oracle(6_000, 4_000, 3_000);
    judge.lost('r0');
    expect(judge.misled(HOLD)).to.equal(true);
  });

  it('are not excused if the successor had never got what it lost', () => {
    const judge = oracle(6_000, undefined, 3_000);
    judge.lost('r0');
    expect(judge.misled(HOLD)).to.equal(false);
  });

  it('are not excused if the successor never got them: replicas confirm acquisitions', () => {
    expect(oracle(6_000, undefined, 3_000).misled(HOLD)).to.equal(false);
  });

  it('are not excused if they were released there', () => {
    expect(oracle(undefined, 2_000, 3_000).misled(HOLD)).to.equal(false);
  });

  it('of another server, name or owner are not excused', () => {
    const judge = oracle(6_000, 2_000, 3_000);
    for (const other of [{ server: 'r1' }, { name: 'other' }, { fields: ['other'] }, { fields: ['owner', 'other'] }]) {
      expect(judge.misled({ ...HOLD, ...other })).to.equal(false);
    }
  });
});
