import { expect } from 'chai';
import { GROUP } from '../../../lib/kinds/group';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { useBench } from './ScriptBench';

describe('group lock scripts', () => {
  const bench = useBench();

  it('a lease is never shorter than asked: it began up to 1 ms later than the clock says, which is rounded down', async () => {
    const { name } = bench();
    const LEASE_MS = 60_000;
    const now = Date.now();
    bench().now = now;
    const acquire = (owner: string, count = 1) =>
      bench().run(GROUP.acquire, { name }, { lease: LEASE_MS, owner }, { moreArgs: [count, 1, 'v'] });
    expect(await acquire('A')).to.have.property('acquired', true);
    bench().now = now + LEASE_MS;
    expect(await acquire('B'), 'another owner').to.deep.equal({ acquired: false, ttl: 1 });
    expect(await bench().run(GROUP.isLocked, { name }, {}, { moreArgs: ['v'] }), 'isLocked').to.equal(true);
    expect(await acquire('A', 2), 'once more').to.deep.equal({ acquired: true });
    // Its second hold has a lease that ends later.
    bench().now = now + 2 * LEASE_MS;
    expect(await acquire('B'), 'another owner').to.deep.equal({ acquired: false, ttl: 1 });
    bench().now = now + 2 * LEASE_MS + 1;
    expect(await acquire('B'), 'afterwards').to.have.property('acquired', true);
    const args = { message: 0, publish: PUBLISH_COMMAND } as const;
    const keys = { name, channel: `${name}:channel` };
    expect(await bench().run(GROUP.forceRelease, keys, args, { moreArgs: ['v'] })).to.equal(true);
  });

  describe('a hand-over', () => {
    const values = ['v', 'w'];

    async function acquire(owner: string, some: readonly string[], lease = 5_000): Promise<void> {
      const { name } = bench();
      const moreArgs = [1, some.length, ...some];
      expect(await bench().run(GROUP.acquire, { name }, { lease, owner }, { moreArgs })).to.deep.equal({
        acquired: true,
      });
    }

    function handOver(owner: string, heir: string, lease = 60_000): Promise<unknown> {
      const { name } = bench();
      const args = { message: '0', owner, heir, lease, publish: PUBLISH_COMMAND } as const;
      return bench().run(GROUP.handOver, { name, channel: `${name}:channel` }, args, { moreArgs: values });
    }

    async function fields(): Promise<Record<string, string>> {
      return bench().redis.hgetall(bench().name);
    }

    it('leaves of the former owner nothing, and sets the count and the time of the heir', async () => {
      const now = (bench().now = Date.now());
      await acquire('A', values);
      expect(await handOver('A', 'B')).to.deep.equal({ kind: 'handed' });
      const time = String(now + 60_000);
      expect(await fields()).to.deep.equal({
        v: 'B',
        'v:B:lock_count': '1',
        'v:B:expire_time': time,
        w: 'B',
        'w:B:lock_count': '1',
        'w:B:expire_time': time,
      });
      expect(await bench().redis.pttl(bench().name)).to.be.within(50_000, 60_000);
      const before = await fields();
      expect(await handOver('A', 'B', 30_000), 'a repeat').to.deep.equal({ kind: 'handed' });
      expect(await fields()).to.deep.equal(before);
      // A repeat writes, as with a plain lock.
      await bench().redis.pexpire(bench().name, 1_000);
      expect(await handOver('A', 'B', 30_000), 'a second repeat').to.deep.equal({ kind: 'handed' });
      expect(await bench().redis.pttl(bench().name)).to.be.within(20_000, 30_000);
    });

    for (const [how, gone, lose] of [
      ['somebody else has', ['w'], () => acquire('C', ['w'])],
      ['is free', ['w'], () => Promise.resolve()],
    ] as const) {
      it(`of values of which one ${how} hands over none, and frees the others`, async () => {
        bench().now = Date.now();
        await acquire('A', ['v']);
        await lose();
        expect(await handOver('A', 'B')).to.deep.equal({ kind: 'notHeld', gone });
        expect(await fields()).not.to.include.any.keys('v', 'v:A:lock_count', 'v:B:lock_count', 'w:B:lock_count');
        expect(await bench().redis.hget(bench().name, 'w')).to.equal(how === 'is free' ? null : 'C');
        // It finds nothing of A any more, and takes nothing from the heir.
        await acquire('B', ['v']);
        expect(await handOver('A', 'B'), 'a repeat').to.deep.equal({ kind: 'notHeld', gone: values });
        expect(await bench().redis.hget(bench().name, 'v')).to.equal('B');
      });
    }

    it('of values whose time is over hands over none', async () => {
      const now = (bench().now = Date.now());
      await acquire('A', values, 1_000);
      bench().now = now + 1_001;
      expect(await handOver('A', 'B')).to.deep.equal({ kind: 'notHeld', gone: values });
      expect(await fields()).to.deep.equal({});
    });
  });
});
