import { expect } from 'chai';
import { ClusterView } from '../../../lib/connection/cluster/ClusterView';
import type { StandaloneLink } from '../../../lib/connection/link/StandaloneLink';
import { turn } from '../../support';

const SEED = { host: 'h', port: 1 };

describe('a cluster that is closed', () => {
  it('is connected to nobody any more, wherever a late answer sends it', async () => {
    const opened: number[] = [];
    const view = new ClusterView({
      seeds: () => Promise.resolve([SEED]),
      connect: ({ port }) => {
        opened.push(port);
        return { ready: false, close: () => Promise.resolve() } as StandaloneLink;
      },
      translate: (address) => address,
      scanInterval: 1_000,
      shardedSubscriptionMode: 'AUTO',
    });
    await turn();
    expect(view.redirect('ASK 1 h:2', SEED)).to.have.property('key', 'h:2');
    expect(opened).to.deep.equal([1, 2]);
    await view.close();
    for (const late of ['MOVED 1 h:3', 'ASK 1 h:3']) expect(view.redirect(late, SEED)).to.equal(undefined);
    expect(opened).to.deep.equal([1, 2]);
  });
});
