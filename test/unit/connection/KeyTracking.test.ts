import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { KeyTracking } from '../../../lib/connection/pubsub/KeyTracking';
import { fakeClock } from '../../support';
import { FakeConnection } from './fakeConnection';

const TIMEOUT = 1_000;

describe('KeyTracking', () => {
  let clock: SinonFakeTimers;
  let listener: FakeConnection;
  let tracking: KeyTracking;
  let end: () => void;
  let told: unknown[];

  beforeEach(async () => {
    clock = fakeClock();
    listener = new FakeConnection();
    const commands = Object.assign(new FakeConnection(), { duplicate: () => listener, call: () => Promise.resolve() });
    Object.assign(listener, { client: () => Promise.resolve(7) });
    tracking = new KeyTracking();
    told = [];
    tracking.events = { changed: (keys) => told.push(keys), refused: (error) => told.push(error) };
    end = tracking.follow(commands.redis, TIMEOUT)!;
    commands.open();
    listener.open();
    await clock.tickAsync(0);
    listener.answer();
    await clock.tickAsync(0);
    expect(told).to.deep.equal([undefined]);
  });

  it('E9: a listener that is half open is found by its heartbeat, and replaced', async () => {
    await clock.tickAsync(3 * TIMEOUT);
    expect(listener.texts.filter((text) => text === 'ping')).to.have.length(1);
    listener.answer();
    await clock.tickAsync(3 * TIMEOUT);
    expect(listener.reconnects).to.equal(0);
    await clock.tickAsync(TIMEOUT);
    expect(listener.reconnects).to.equal(1);
    end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('E9: and at once when another connection gets no answer; not while it is not connected', async () => {
    tracking.probe();
    await clock.tickAsync(TIMEOUT);
    expect(listener.reconnects).to.equal(1);
    listener.break();
    tracking.probe();
    await clock.tickAsync(10 * TIMEOUT);
    expect(listener.reconnects).to.equal(1);
    end();
    expect(clock.countTimers()).to.equal(0);
  });
});
