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
});
