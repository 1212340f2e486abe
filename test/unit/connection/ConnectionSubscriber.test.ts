// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ConnectionSubscriber, type ListenOptions } from '../../../lib/connection/pubsub/ConnectionSubscriber';
import type { Logins } from '../../../lib/connection/link/Logins';
import { fakeClock, stallClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeConnection } from './fakeConnection';
import { reply } from './fakeLink';

const TIMEOUT = 1_000;

describe('ConnectionSubscriber', () => {
  let clock: SinonFakeTimers;
  let connection: FakeConnection;
  let subscriber: ConnectionSubscriber;
  let told: string[];

  beforeEach(() => {
    clock = fakeClock();
    connection = new FakeConnection();
    told = [];
  });

  function listen(sharded = false, more?: Pick<ListenOptions, 'logins' | 'open'>): void {
    const moved = (channel: string, error: Error): void => void told.push(`moved ${channel}: ${error.message}`);
    const onSilence = (): void => void told.push('silence');
    const options = { timeout: TIMEOUT, onSilence, ...(sharded && { moved }), ...more };
    subscriber = new ConnectionSubscriber(connection.redis, options);
    subscriber.events = {
      message: (channel, message) => told.push(`${channel}=${message}`),
      interrupted: () => told.push('interrupted'),
      restored: () => told.push('restored'),
    };
  }

  const settle = () => clock.tickAsync(0);

  it('subscribes what is wanted once it is connected, and hears it', async () => {
    listen();
    const early = new Outcome(subscriber.subscribe('a'));
    const gone = new Outcome(subscriber.subscribe('b'));
    subscriber.unsubscribe('b');
    expect(connection.texts).to.deep.equal([]);
    connection.open();
    expect(connection.texts).to.deep.equal(['subscribe a']);
    await settle();
    connection.answer();
    await settle();
    expect([early.state, gone.state]).to.deep.equal(['resolved', 'pending']);
    connection.emit('message', 'a', '0');
    expect(told).to.deep.equal(['restored', 'a=0']);
    subscriber.unsubscribe('a');
    await settle();
    expect(connection.texts.at(-1)).to.equal('unsubscribe a');
    subscriber.close();
    expect(clock.countTimers()).to.equal(0);
  });

  it('tells of a connection that breaks, and of the one that takes its place, after everything is subscribed', async () => {
    listen();
    connection.open();
    const live = new Outcome(subscriber.subscribe('a'));
    await settle();
    connection.answer();
    await settle();
    const underWay = new Outcome(subscriber.subscribe('b'));
    await settle();
    connection.break();
    await settle();
    expect([live.state, underWay.state, told]).to.deep.equal(['resolved', 'pending', ['interrupted']]);
    connection.open();
    expect(connection.texts.at(-1)).to.equal('subscribe a b');
    expect(told).to.deep.equal(['interrupted']);
    await settle();
    connection.answer();
    await settle();
    expect([underWay.state, told]).to.deep.equal(['resolved', ['interrupted', 'restored']]);
  });

  it('takes no answer to an earlier subscription for that to a later one: it was unsubscribed in between', async () => {
    listen();
    connection.open();
    subscriber.subscribe('a').catch(() => undefined);
    subscriber.unsubscribe('a');
    const again = new Outcome(subscriber.subscribe('a'));
    await settle();
    expect(connection.texts).to.deep.equal(['subscribe a', 'unsubscribe a', 'subscribe a']);
    connection.sent[0]!.resolve(1);
    await settle();
    expect(again.state).to.equal('pending');
    await settle();
    connection.answer();
    await settle();
    expect(again.state).to.equal('resolved');
  });

  it('tells that a connection is back although nobody listens any more: an outage that was told has to end', async () => {
    listen();
    connection.open();
    subscriber.subscribe('a').catch(() => undefined);
    await settle();
    connection.answer();
    await settle();
    connection.break();
    subscriber.unsubscribe('a');
    connection.open();
    await settle();
    expect(told).to.deep.equal(['interrupted', 'restored']);
    connection.break();
    connection.open();
    await settle();
    expect(told).to.deep.equal(['interrupted', 'restored']);
  });

  it('A12: subscribes however many channels after a reconnect, a thousand per command', async () => {
    listen();
    for (let i = 0; i < 2_500; i++) subscriber.subscribe(`c${i}`).catch(() => undefined);
    connection.open();
    expect(connection.texts.map((text) => text.split(' ').length - 1)).to.deep.equal([1_000, 1_000, 500]);
    expect(new Set(connection.texts.flatMap((text) => text.split(' ').slice(1))).size).to.equal(2_500);
    subscriber.close();
    await settle();
  });

  it('with nobody listening breaks unheard', () => {
    listen();
    connection.open();
    connection.break();
    connection.open();
    expect([told, connection.texts]).to.deep.equal([[], []]);
  });

  it('subscribes and leaves the channels of a turn together, in the order in which that was decided', async () => {
    listen();
    connection.open();
    const asked = ['a', 'b'].map((channel) => new Outcome(subscriber.subscribe(channel)));
    expect(connection.texts).to.deep.equal([]);
    await settle();
    expect(connection.texts).to.deep.equal(['subscribe a b']);
    connection.answer();
    await settle();
    expect(asked.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved']);
    for (const channel of ['a', 'b']) subscriber.unsubscribe(channel);
    for (const channel of ['a', 'c']) void subscriber.subscribe(channel);
    subscriber.unsubscribe('c');
    await settle();
    expect(connection.texts.slice(1)).to.deep.equal(['unsubscribe a b', 'subscribe a c', 'unsubscribe c']);
  });

  it('asks for each alone when the server refuses one of many: nobody else is refused', async () => {
    listen();
    connection.open();
    const asked = ['a', 'b', 'c'].map((channel) => new Outcome(subscriber.subscribe(channel)));
    await settle();
    connection.sent[0]!.reject(reply('NOPERM no channels'));
    await settle();
    expect(connection.texts.slice(1)).to.deep.equal(['subscribe a', 'subscribe b', 'subscribe c']);
    connection.sent[2]!.reject(reply('NOPERM no channels'));
    connection.answer();
    await settle();
    expect(asked.map(({ state }) => state)).to.deep.equal(['resolved', 'rejected', 'resolved']);
    expect(String(asked[1]!.error)).to.contain("channel 'b'");
    // A live one that is refused on the way back alone is asked for again, alone.
    connection.break();
    connection.open();
    connection.sent.at(-1)!.reject(reply('NOPERM no channels'));
    await settle();
    connection.sent.at(-2)!.reject(reply('NOPERM no channels'));
    connection.answer();
    await clock.tickAsync(200);
    expect(connection.texts.slice(4)).to.deep.equal(['subscribe a c', 'subscribe a', 'subscribe c', 'subscribe a']);
  });

  it('forgets what was not sent when the connection breaks, and asks for it on the next', async () => {
    listen();
    connection.open();
    const asked = new Outcome(subscriber.subscribe('a'));
    connection.break();
    connection.open();
    await settle();
    expect(connection.texts).to.deep.equal(['subscribe a']);
    connection.answer();
    await settle();
    expect(asked.state).to.equal('resolved');
  });

  it('rejects a subscription the server refuses, that one alone', async () => {
    listen();
    connection.open();
    const fine = new Outcome(subscriber.subscribe('a'));
    await settle();
    connection.answer();
    const denied = new Outcome(subscriber.subscribe('b'));
    await settle();
    connection.sent.at(-1)?.reject(reply('NOPERM no channels'));
    await settle();
    expect([fine.state, denied.state]).to.deep.equal(['resolved', 'rejected']);
    connection.break();
    connection.open();
    expect(connection.texts.at(-1)).to.equal('subscribe a');
  });

  it('a refusal that comes late is that of whoever asked then, not of who has asked anew', async () => {
    listen();
    connection.open();
    const first = new Outcome(subscriber.subscribe('a'));
    await settle();
    const [refused] = connection.sent;
    subscriber.unsubscribe('a');
    const second = new Outcome(subscriber.subscribe('a'));
    await settle();
    expect(connection.texts).to.deep.equal(['subscribe a', 'unsubscribe a', 'subscribe a']);
    refused!.reject(reply('NOPERM no channels'));
    await settle();
    expect([first.state, second.state]).to.deep.equal(['pending', 'pending']);
    await settle();
    connection.answer();
    await settle();
    expect(second.state).to.equal('resolved');
  });

  it('does not give up a live channel that is refused on the way back', async () => {
    listen();
    connection.open();
    void subscriber.subscribe('a');
    await settle();
    connection.answer();
    await settle();
    connection.break();
    connection.open();
    await settle();
    connection.sent.at(-1)?.reject(reply('LOADING'));
    await settle();
    expect(told).to.deep.equal(['interrupted', 'restored']);
    await clock.tickAsync(200);
    expect(connection.texts).to.deep.equal(['subscribe a', 'subscribe a', 'subscribe a']);
    await settle();
    connection.answer();
    await settle();
    expect(told.at(-1)).to.equal('restored');
  });

  describe('that hears nothing', () => {
    beforeEach(async () => {
      listen();
      connection.open();
      void subscriber.subscribe('a');
      await settle();
      connection.answer();
      await settle();
    });

    it('asks now and then whether the server is there, and is content when it is', async () => {
      for (let i = 1; i <= 3; i++) {
        await clock.tickAsync(3 * TIMEOUT);
        expect(connection.texts.filter((text) => text === 'ping').length).to.equal(i);
        await settle();
        connection.answer();
        await settle();
      }
      expect([connection.reconnects, told]).to.deep.equal([0, []]);
    });

    it('connects anew when it is not, and says so', async () => {
      await clock.tickAsync(4 * TIMEOUT - 1);
      expect(connection.reconnects).to.equal(0);
      await clock.tickAsync(1);
      expect([connection.reconnects, told]).to.deep.equal([1, ['silence']]);
    });

    it('reads an answer that has come while the event loop was blocked', async () => {
      subscriber.probe();
      stallClock(clock, 5 * TIMEOUT);
      clock.tick(TIMEOUT);
      connection.answer();
      await turn();
      await clock.tickAsync(2 * TIMEOUT);
      expect([connection.reconnects, told]).to.deep.equal([0, []]);
    });

    it('is no silence while it reads what comes before the answer', async () => {
      const { stream } = connection;
      subscriber.probe();
      stream.bytesRead += 1;
      await clock.tickAsync(2 * TIMEOUT - 1);
      expect(connection.reconnects).to.equal(0);
      await clock.tickAsync(1);
      expect([connection.reconnects, told]).to.deep.equal([1, ['silence']]);
    });

    it('asks at once when something else is wrong, and never twice at a time', async () => {
      subscriber.probe();
      subscriber.probe();
      await settle();
      expect(connection.texts).to.deep.equal(['subscribe a', 'ping']);
      await clock.tickAsync(TIMEOUT);
      expect(connection.reconnects).to.equal(1);
    });

    it('connects anew when a subscription is not answered, and subscribes there', async () => {
      subscriber.unsubscribe('a');
      await settle();
      connection.answer();
      const subscribed = subscriber.subscribe('b');
      await clock.tickAsync(TIMEOUT - 1);
      expect(connection.reconnects).to.equal(0);
      await clock.tickAsync(1);
      expect([connection.reconnects, told]).to.deep.equal([1, ['silence']]);
      connection.break();
      connection.open();
      await settle();
      connection.answer();
      await subscribed;
    });

    it('asks nothing when nobody listens', async () => {
      subscriber.unsubscribe('a');
      subscriber.probe();
      await clock.tickAsync(20 * TIMEOUT);
      expect(connection.texts).to.deep.equal(['subscribe a', 'unsubscribe a']);
      expect(clock.countTimers()).to.equal(0);
    });
  });

  it('leaves a connection that opens and says nothing', async () => {
    listen();
    connection.emit('connect');
    await clock.tickAsync(TIMEOUT);
    expect(connection.reconnects).to.equal(1);
  });

  it('goes where the commands go', () => {
    listen();
    subscriber.follow('10.0.0.2:6379');
    expect(connection.reconnects, 'it is not connected').to.equal(0);
    connection.open();
    subscriber.follow('10.0.0.1:6379');
    expect(connection.reconnects).to.equal(0);
    subscriber.follow('10.0.0.2:6379');
    expect(connection.reconnects).to.equal(1);
  });

  it('connects anew when ioredis has lost count of the answers', () => {
    listen();
    connection.emit('error', new Error('Command queue state error. If you can reproduce this, please report it.'));
    connection.emit('error', new Error('read ECONNRESET'));
    expect(connection.reconnects).to.equal(1);
  });

  it('closed rejects those who wait', async () => {
    listen();
    const waiting = new Outcome(subscriber.subscribe('a'));
    subscriber.close();
    const late = new Outcome(subscriber.subscribe('b'));
    await settle();
    for (const outcome of [waiting, late]) expect((outcome.error as { code: string }).code).to.equal('SHUTDOWN');
    expect([connection.status, clock.countTimers()]).to.deep.equal(['end', 0]);
  });

  describe('of a shard', () => {
    beforeEach(() => {
      listen(true);
      connection.open();
    });

    it('subscribes each channel by itself, and hears sharded messages', async () => {
      void subscriber.subscribe('a');
      void subscriber.subscribe('b');
      await settle();
      connection.answer();
      connection.emit('smessage', 'a', '0');
      connection.emit('message', 'b', '0');
      connection.break();
      connection.open();
      await settle();
      expect(connection.texts).to.deep.equal(['ssubscribe a', 'ssubscribe b', 'ssubscribe a', 'ssubscribe b']);
      await settle();
      connection.answer();
      await settle();
      expect(told).to.deep.equal(['a=0', 'interrupted', 'restored']);
      subscriber.unsubscribe('a');
      await settle();
      expect(connection.texts.at(-1)).to.equal('sunsubscribe a');
    });

    it('forgets a channel whose slot is elsewhere, and says where', async () => {
      const outcome = new Outcome(subscriber.subscribe('a'));
      await settle();
      connection.sent.at(-1)?.reject(reply('MOVED 15495 10.0.0.2:6379'));
      await settle();
      expect([told, outcome.state]).to.deep.equal([['moved a: MOVED 15495 10.0.0.2:6379'], 'pending']);
      connection.break();
      connection.open();
      expect(connection.texts).to.deep.equal(['ssubscribe a']);
    });

    it('asks for all its channels again when the server has dropped one', async () => {
      void subscriber.subscribe('a');
      void subscriber.subscribe('b');
      await settle();
      connection.answer();
      await settle();
      connection.emit('moved');
      connection.emit('moved');
      await settle();
      expect(connection.texts.slice(2)).to.deep.equal(['ssubscribe a', 'ssubscribe b']);
      connection.sent[2]?.reject(reply('MOVED 15495 10.0.0.2:6379'));
      connection.sent[3]?.resolve(1);
      await settle();
      expect(told).to.deep.equal(['moved a: MOVED 15495 10.0.0.2:6379', 'restored']);
    });

    it('waits for a cluster that is down', async () => {
      const outcome = new Outcome(subscriber.subscribe('a'));
      await settle();
      connection.sent.at(-1)?.reject(reply('CLUSTERDOWN Hash slot not served'));
      await clock.tickAsync(200);
      expect([outcome.state, connection.texts]).to.deep.equal(['pending', ['ssubscribe a', 'ssubscribe a']]);
      await settle();
      connection.answer();
      await settle();
      expect(outcome.state).to.equal('resolved');
    });
  });

  describe('whose login changes', () => {
    let reopen: () => void;
    let second: FakeConnection;

    beforeEach(async () => {
      const keep = (_redis: unknown, how: { readonly reopen: () => void }) => {
        reopen = how.reopen;
        return () => undefined;
      };
      second = new FakeConnection();
      const logins = { keep } as unknown as Logins;
      listen(false, { logins, open: () => second.redis });
      connection.open();
      void subscriber.subscribe('a');
      await settle();
      connection.answer();
      await settle();
      told = [];
    });

    it('D1: another connection takes its place with every channel, and no message is lost on the way', async () => {
      reopen();
      second.open();
      expect(second.texts).to.deep.equal(['subscribe a']);
      // Until the new one listens, the old one is heard; what is asked for meanwhile is asked for on both.
      connection.emit('message', 'a', 'old');
      void subscriber.subscribe('b');
      await settle();
      connection.answer();
      await settle();
      second.answer();
      await settle();
      expect(second.texts).to.deep.equal(['subscribe a', 'subscribe b']);
      await settle();
      second.answer();
      await settle();
      // What the old one was sent before comes before its answer to this.
      expect(connection.texts.at(-1)).to.equal('ping');
      connection.emit('message', 'a', 'late');
      second.emit('message', 'b', 'new');
      await settle();
      connection.answer();
      await settle();
      expect(told).to.deep.equal(['a=old', 'a=late', 'b=new']);
      connection.break();
      await settle();
      expect(told).to.deep.equal(['a=old', 'a=late', 'b=new']);
      subscriber.unsubscribe('a');
      await settle();
      expect(second.texts.at(-1)).to.equal('unsubscribe a');
      subscriber.close();
      expect(clock.countTimers()).to.equal(0);
    });

    it('asks for every channel again where the old connection does not say that it has delivered all', async () => {
      reopen();
      second.open();
      await settle();
      second.answer();
      await settle();
      expect(connection.texts.at(-1)).to.equal('ping');
      await clock.tickAsync(TIMEOUT - 1);
      expect([connection.status, second.texts, told]).to.deep.equal(['ready', ['subscribe a'], []]);
      await clock.tickAsync(1);
      // What it had may be lost: this wakes the waiters.
      expect([connection.status, second.texts]).to.deep.equal(['end', ['subscribe a', 'subscribe a']]);
      second.answer();
      await settle();
      expect(told).to.deep.equal(['restored']);
    });

    it('closes the old connection with the new one, although it has not told yet whether it had more', async () => {
      reopen();
      second.open();
      await settle();
      second.answer();
      await settle();
      expect(connection.texts.at(-1)).to.equal('ping');
      subscriber.close();
      expect([connection.status, second.status]).to.deep.equal(['end', 'end']);
      connection.break();
      await settle();
      expect(clock.countTimers()).to.equal(0);
    });
  });
});
