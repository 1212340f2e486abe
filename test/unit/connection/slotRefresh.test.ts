import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ClusterView } from '../../../lib/connection/cluster/ClusterView';
import type { StandaloneLink } from '../../../lib/connection/link/StandaloneLink';
import { fakeClock } from '../../support';

const SCAN_MS = 1_000;

describe('the slots of a cluster', () => {
  let clock: SinonFakeTimers;
  let view: ClusterView;
  /** The port of the master of all slots, as each node says. */
  let owner: number;
  let asked: number;

  beforeEach(async () => {
    clock = fakeClock();
    owner = 1;
    asked = 0;
    view = new ClusterView({
      seeds: () => Promise.resolve([{ host: 'h', port: 1 }]),
      connect: () => {
        const link = {
          ready: true,
          events: undefined as StandaloneLink['events'],
          send: (command: string) => {
            if (command !== 'cluster') return Promise.resolve(['0', 0]);
            asked++;
            return Promise.resolve([[0, 16383, ['h', owner, 'id']]]);
          },
          close: () => Promise.resolve(),
        };
        setTimeout(() => link.events?.ready(), 1);
        return link as unknown as StandaloneLink;
      },
      translate: (address) => address,
      scanInterval: SCAN_MS,
      shardedSubscriptionMode: 'AUTO',
    });
    await clock.tickAsync(100);
  });

  afterEach(() => view.close());

  it('are asked for again every scanInterval: who listens there hears of another owner without a redirection', async () => {
    let changes = 0;
    view.onChange(() => changes++);
    expect([view.ownerOf(5), asked]).to.deep.equal(['h:1', 1]);
    owner = 2;
    await clock.tickAsync(SCAN_MS);
    expect([view.ownerOf(5), asked, changes]).to.deep.equal(['h:2', 2, 1]);
    await clock.tickAsync(10 * SCAN_MS);
    expect([view.ownerOf(5), asked, changes]).to.deep.equal(['h:2', 12, 1]);
  });

  it('are not asked for any more at the end', async () => {
    await view.close();
    await clock.tickAsync(10 * SCAN_MS);
    expect([asked, clock.countTimers()]).to.deep.equal([1, 0]);
  });
});
