import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { StandaloneLink } from '../../../lib/connection/link/StandaloneLink';
import { fakeClock } from '../../support';
import { FakeConnection } from './fakeConnection';

describe('StandaloneLink: the first answer after a silence', () => {
  let clock: SinonFakeTimers;
  let connection: FakeConnection;
  let link: StandaloneLink;

  beforeEach(() => (clock = fakeClock()));

  function open(timeout: number): void {
    connection = new FakeConnection();
    const call = (): Promise<unknown> => Promise.resolve(null);
    Object.assign(connection, { call });
    Object.assign(connection.stream, { bytesRead: 0 });
    link = new StandaloneLink(connection.redis, { address: 'h:1', timeout, syncTimeout: 0 });
    connection.open();
  }

  async function sendAfter(ms: number): Promise<void> {
    await clock.tickAsync(ms);
    await link.send('get', ['a']);
  }

  it('a link that is closed while it waits for that answer leaves no timer', async () => {
    open(3_000);
    await sendAfter(11_000);
    expect(clock.countTimers()).to.equal(1);
    await link.close();
    expect(clock.countTimers()).to.equal(0);
  });

  it('nor does one whose connection is lost', async () => {
    open(3_000);
    await sendAfter(11_000);
    connection.break();
    expect(clock.countTimers()).to.equal(0);
  });

  it('a connection on which nothing comes is replaced after a third of the time-out', async () => {
    open(3_000);
    await sendAfter(11_000);
    await clock.tickAsync(999);
    expect(connection.reconnects).to.equal(0);
    await clock.tickAsync(1);
    expect([connection.reconnects, clock.countTimers()]).to.deep.equal([1, 0]);
  });

  it('a later command after another silence does not put that off', async () => {
    open(60_000);
    await sendAfter(11_000);
    await sendAfter(11_000);
    await clock.tickAsync(9_000);
    expect(connection.reconnects).to.equal(1);
  });

  it('and has a third of its own, if the first was answered', async () => {
    open(60_000);
    await sendAfter(11_000);
    Object.assign(connection.stream, { bytesRead: 1 });
    await sendAfter(11_000);
    await clock.tickAsync(19_999);
    expect(connection.reconnects).to.equal(0);
    await clock.tickAsync(1);
    expect([connection.reconnects, clock.countTimers()]).to.deep.equal([1, 0]);
  });
});
