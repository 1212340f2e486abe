// Ids in titles: test/README.md
import { expect } from 'chai';
import {
  acquireNonReentrantFairLock,
  acquireNonReentrantLock,
  tryAcquireNonReentrantFairLock,
} from '../../../lib/kinds/nonReentrant';
import type { AcquireReply } from '../../../lib/scripts/replies';
import { FairBench } from './FairBench';
import { useBench } from './ScriptBench';

const REENTRY = { acquired: false, ttl: -1, reentry: true };

/** One attempt: the owner, the holds it shall have, whether it is a later send, its lease. */
type Attempt = (owner: string, count?: number, resent?: boolean, lease?: number) => Promise<AcquireReply>;

describe('non-reentrant lock scripts', () => {
  const bench = useBench();
  let fair: FairBench;
  beforeEach(() => {
    fair = new FairBench(bench());
  });

  const attemptFair =
    (script: typeof acquireNonReentrantFairLock): Attempt =>
    (owner, count = 1, resent = false, lease = 30_000) =>
      bench().run(script, fair.keys(), { ...fair.args(owner, count), lease }, { resent });
  const attempts: Record<string, Attempt> = {
    plain: (owner, count = 1, resent = false, lease = 30_000) =>
      bench().run(acquireNonReentrantLock, { name: bench().name }, { lease, owner, count }, { resent }),
    'fair, queueing': attemptFair(acquireNonReentrantFairLock),
    'fair, one-shot': attemptFair(tryAcquireNonReentrantFairLock),
  };

  for (const [kind, attempt] of Object.entries(attempts)) {
    describe(kind, () => {
      it('takes a free lock', async () => {
        expect(await attempt('A')).to.deep.equal({ acquired: true });
        expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
        expect(await bench().redis.pttl(bench().name)).to.be.within(...bench().left(30_000));
      });

      it('NR-02/NF-02: says that its own thread asks again, and changes nothing', async () => {
        await attempt('A');
        for (const again of [attempt('A', 2), attempt('A', 2, true)]) {
          expect(await again).to.deep.equal(REENTRY);
        }
        await attempt('A', 2, false, 90_000);
        expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
        expect(await bench().redis.pttl(bench().name)).to.be.within(...bench().left(30_000));
      });

      for (const resent of [true, false]) {
        const what = resent ? 'a repeat of the same acquisition' : 'A8: a leftover of a hold that was lost';
        it(`knows ${what}`, async () => {
          await attempt('A');
          expect(await attempt('A', 1, resent, 60_000)).to.deep.equal({ acquired: true });
          expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
          expect(await bench().redis.pttl(bench().name)).to.be.within(...bench().left(60_000));
        });
      }

      it('takes a free lock on a repeat whose first send did not run', async () => {
        expect(await attempt('A', 1, true)).to.deep.equal({ acquired: true });
      });

      it('is not kept out by a hold that was lost, and says so', async () => {
        expect(await attempt('A', 2)).to.deep.equal({ acquired: true, holds: 1 });
      });

      it('answers the pttl while another one holds it', async () => {
        // A waiter attempts after half of its own wait in any case.
        fair.wait = 300_000;
        await attempt('A');
        const reply = await attempt('B');
        expect(reply).to.include({ acquired: false });
        expect(reply)
          .to.have.property('ttl')
          .within(...bench().left(30_000));
      });
    });
  }

  it('queues like a fair lock, in one queue with it', async () => {
    const attempt = attempts['fair, queueing']!;
    await fair.acquire('A');
    await attempt('B');
    await fair.acquire('C');
    await fair.expectQueue({ B: 35_000, C: 40_000 });
    await fair.release('A');
    expect(await attempt('B')).to.deep.equal({ acquired: true });
    expect(await attempt('B', 1, true)).to.deep.equal({ acquired: true });
    await fair.expectQueue({ C: 35_000 });
  });
});
