import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { ClusterView } from '../../../lib/connection/cluster/ClusterView';
import { ConnectionSubscriber } from '../../../lib/connection/pubsub/ConnectionSubscriber';
import { ShardedSubscriber } from '../../../lib/connection/pubsub/ShardedSubscriber';
import { SlotMap } from '../../../lib/connection/cluster/SlotMap';
import { slotOf } from '../../../lib/util/names';
import { fakeClock } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeConnection } from './fakeConnection';
import { reply } from './fakeLink';

const LOW = 'channel:{b}'; // slot 3300
const HIGH = 'channel:{a}'; // slot 15495

/** As much of a view as the subscriber uses; the test says who owns what. */
class FakeView {
  readonly slots = new SlotMap((address) => address);
  troubles = 0;
  #changed: () => void = () => undefined;

  get masters(): ClusterView['masters'] {
    return this.slots.masters;
  }

  ownerOf(slot: number): string | undefined {
    return this.slots.ownerOf(slot);
  }

  onChange(listener: () => void): () => void {
    this.#changed = listener;
    return () => undefined;
  }

  trouble(): void {
    this.troubles += 1;
  }

  redirect(text: string): undefined {
    this.slots.redirect(text, { host: '', port: 0 });
    this.#changed();
  }

  /** Slots up to 8191 are on the first port, the others on the second. */
  load(...ports: number[]): void {
    const [low, high = low] = ports;
    const ranges =
      low === undefined
        ? []
        : [
            [0, 8191, ['h', low]],
            [8192, 16383, ['h', high]],
          ];
    this.slots.load(ranges, { host: 'h', port: 0 });
    this.#changed();
  }
}

describe('ShardedSubscriber', () => {
  let clock: SinonFakeTimers;
  let view: FakeView;
  let shards: Map<number, FakeConnection>;
  let subscriber: ShardedSubscriber;
  let told: string[];

  beforeEach(() => {
    clock = fakeClock();
    view = new FakeView();
    shards = new Map();
    told = [];
    subscriber = new ShardedSubscriber(view as unknown as ClusterView, ({ port }, moved) => {
      const connection = new FakeConnection();
      shards.set(port, connection);
      return new ConnectionSubscriber(connection.redis, { timeout: 1_000, moved });
    });
    subscriber.events = {
      message: (channel, message) => told.push(`${channel}=${message}`),
      interrupted: () => told.push('interrupted'),
      restored: () => told.push('restored'),
    };
  });

  const settle = () => clock.tickAsync(1);

  /** Connects every shard and has it answer. */
  async function answer(): Promise<void> {
    for (const shard of shards.values()) {
      if (shard.status === 'connecting') shard.open();
      shard.answer();
    }
    await settle();
  }

  /** One channel on each of two shards, both acknowledged. */
  async function subscribeOnTwoShards(): Promise<void> {
    view.load(1, 2);
    void subscriber.subscribe(LOW);
    void subscriber.subscribe(HIGH);
    await answer();
    await answer();
  }

  it('subscribes at the owner of the slot, on one connection for each that is needed', async () => {
    expect([slotOf(LOW), slotOf(HIGH)]).to.deep.equal([3300, 15495]);
    view.load(1, 2);
    const outcomes = [subscriber.subscribe(LOW), subscriber.subscribe(`${LOW}!`)].map((one) => new Outcome(one));
    await answer();
    await answer();
    expect(outcomes.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved']);
    expect([...shards.keys()]).to.deep.equal([1]);
    void subscriber.subscribe(HIGH);
    await answer();
    expect([...shards.keys()]).to.deep.equal([1, 2]);
    shards.get(2)?.emit('smessage', HIGH, '0');
    expect(told.at(-1)).to.equal(`${HIGH}=0`);
    subscriber.unsubscribe(HIGH);
    await settle();
    expect(shards.get(2)?.texts.at(-1)).to.equal(`sunsubscribe ${HIGH}`);
  });

  it('waits until the slot has an owner', async () => {
    const outcome = new Outcome(subscriber.subscribe(LOW));
    await settle();
    expect([outcome.state, view.troubles, shards.size]).to.deep.equal(['pending', 1, 0]);
    view.load(1);
    await answer();
    await answer();
    expect(outcome.state).to.equal('resolved');
  });

  it('follows the slot to another owner, tells its waiters, and leaves a master that owns nothing', async () => {
    view.load(1, 2);
    void subscriber.subscribe(LOW);
    await answer();
    await answer();
    told = [];
    view.load(3, 2);
    await settle();
    expect(shards.get(1)?.status).to.equal('end');
    expect(told).to.deep.equal([]);
    await answer();
    await answer();
    expect(shards.get(3)?.texts).to.deep.equal([`ssubscribe ${LOW}`]);
    expect(told.at(-1)).to.equal('restored');
  });

  it('tells the waiters of a slot that goes to a master which others listen at already', async () => {
    await subscribeOnTwoShards();
    told = [];
    view.load(2, 2);
    await settle();
    expect(shards.get(2)?.texts.at(-1)).to.equal(`ssubscribe ${LOW}`);
    expect(told).to.deep.equal([]);
    await answer();
    expect(told).to.deep.equal(['restored']);
  });

  it('goes where a node sends a channel that came too late, with the promise it gave', async () => {
    view.load(1, 2);
    const outcome = new Outcome(subscriber.subscribe(LOW));
    shards.get(1)?.open();
    shards.get(1)?.sent.at(-1)?.reject(reply('MOVED 3300 h:2'));
    await settle();
    await answer();
    await answer();
    expect(shards.get(2)?.texts).to.deep.equal([`ssubscribe ${LOW}`]);
    expect(outcome.state).to.equal('resolved');
  });

  it('is not sent to and fro as fast as the wire allows', async () => {
    view.load(1, 2);
    void subscriber.subscribe(LOW);
    const sent = () => [...shards.values()].reduce((sum, { sent: { length } }) => sum + length, 0);
    for (let i = 0; i < 200; i++) {
      for (const [port, shard] of shards) {
        if (shard.status === 'connecting') shard.open();
        shard.sent.at(-1)?.reject(reply(`MOVED 3300 h:${3 - port}`));
      }
      await settle();
    }
    expect(sent()).to.be.within(4, 10);
  });

  it('is whole again only when every shard is', async () => {
    await subscribeOnTwoShards();
    told = [];
    shards.get(1)?.break();
    shards.get(2)?.break();
    shards.get(1)?.open();
    shards.get(1)?.answer();
    await settle();
    expect(told).to.deep.equal(['interrupted', 'interrupted', 'restored', 'interrupted']);
    shards.get(2)?.open();
    shards.get(2)?.answer();
    await settle();
    expect(told.at(-1)).to.equal('restored');
  });

  it('is whole again when the shard that is gone owns nothing any more, and nobody has to move', async () => {
    await subscribeOnTwoShards();
    told = [];
    shards.get(2)?.break();
    subscriber.unsubscribe(HIGH);
    view.load(1);
    await settle();
    expect(told).to.deep.equal(['interrupted', 'restored']);
  });

  describe('E11: tells of each channel by itself', () => {
    let heard: string[];

    /** What is told, with the channels. */
    async function listenOnTwoShards(): Promise<void> {
      await subscribeOnTwoShards();
      heard = [];
      const tell = (what: string, some: readonly string[] = []): void => {
        const text = `${what} ${some.map((channel) => (channel === LOW ? 'low' : 'high')).join()}`;
        // The shard repeats it when it has connected.
        if (heard.at(-1) !== text) heard.push(text);
      };
      subscriber.events = {
        message: () => undefined,
        interrupted: (some) => tell('interrupted', some),
        restored: (some) => tell('restored', some),
      };
    }

    it('two move, and one of the new masters hangs: the other is restored, and this one is interrupted', async () => {
      await listenOnTwoShards();
      view.load(3, 4);
      shards.get(4)!.open();
      await settle();
      shards.get(4)!.answer();
      await settle();
      expect(heard).to.deep.equal(['restored high']);
      await clock.tickAsync(200);
      expect(heard).to.deep.equal(['restored high', 'interrupted low']);
      const again = new Outcome(subscriber.subscribe(LOW));
      await settle();
      expect(again.state).to.equal('pending');
      await answer();
      await answer();
      expect([heard.at(-1), again.state]).to.deep.equal(['restored low', 'resolved']);
    });

    it('what a new master refuses is asked for again, and interrupted until then', async () => {
      await listenOnTwoShards();
      view.load(3, 2);
      shards.get(3)!.open();
      await settle();
      shards.get(3)!.sent.at(-1)!.reject(reply('NOPERM no access to the channel'));
      await settle();
      expect(heard).to.deep.equal(['interrupted low']);
      const sent = (): number => shards.get(3)!.texts.filter((text) => text === `ssubscribe ${LOW}`).length;
      await clock.tickAsync(150);
      expect(sent()).to.equal(2);
      shards.get(3)!.answer();
      await settle();
      expect(heard.at(-1)).to.equal('restored low');
    });

    it('one moves while the shard of the other is silent: only the one is restored', async () => {
      await listenOnTwoShards();
      shards.get(2)!.break();
      await settle();
      view.load(3, 2);
      shards.get(3)!.open();
      await settle();
      shards.get(3)!.answer();
      await settle();
      // What is still interrupted is told once more.
      expect(heard.slice(0, 3)).to.deep.equal(['interrupted high', 'restored low', 'interrupted high']);
      expect(heard.at(-1)).to.equal('interrupted high');
    });

    it('one whose slot has no owner any more is interrupted', async () => {
      await listenOnTwoShards();
      view.load();
      await settle();
      expect(heard).to.deep.equal(['interrupted low,high']);
      view.load(1, 2);
      await answer();
      await answer();
      expect(heard.slice(1).join()).to.equal('restored low,high');
    });
  });

  it('closed rejects those who wait, and closes every connection', async () => {
    view.load(1, 2);
    const outcomes = [subscriber.subscribe(LOW), subscriber.subscribe(HIGH)].map((one) => new Outcome(one));
    subscriber.close();
    outcomes.push(new Outcome(subscriber.subscribe(LOW)));
    await settle();
    for (const { error } of outcomes) expect((error as { code: string }).code).to.equal('SHUTDOWN');
    expect([...shards.values()].map(({ status }) => status)).to.deep.equal(['end', 'end']);
    expect(clock.countTimers()).to.equal(0);
  });
});
