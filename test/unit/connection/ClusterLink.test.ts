import { expect } from 'chai';
import { ClusterLink } from '../../../lib/connection/cluster/ClusterLink';
import type { ClusterView } from '../../../lib/connection/cluster/ClusterView';
import { slotOf } from '../../../lib/util/names';
import { reply } from './fakeLink';

/** A node that answers as it is told. */
class FakeNode {
  readonly address = { host: 'h', port: 1 };
  readonly log: string[] = [];
  ready = true;
  answer: Error | string = 'fine';

  readonly link = {
    isReady: () => this.ready,
    get ready(): boolean {
      return this.isReady();
    },
    send: (command: string) => this.#take(command),
    ask: (command: string) => this.#take(`asking ${command}`),
    replace: () => undefined,
    unanswered: (_key: unknown, sentAt: number) => this.log.push(`unanswered ${sentAt}`),
  };

  #take(text: string): Promise<string> {
    this.log.push(text);
    return this.answer instanceof Error ? Promise.reject(this.answer) : Promise.resolve(this.answer);
  }
}

class FakeView {
  sharded: boolean | undefined = true;
  events: unknown;
  owner: FakeNode | undefined = new FakeNode();
  target: FakeNode | undefined = new FakeNode();
  readonly slots: number[] = [];
  readonly log: string[] = [];

  nodeOf(slot: number): FakeNode | undefined {
    this.slots.push(slot);
    return this.owner;
  }

  redirect(text: string): FakeNode | undefined {
    this.log.push(text);
    return this.target;
  }

  trouble(): void {
    this.log.push('trouble');
  }
}

describe('ClusterLink', () => {
  let view: FakeView;
  let link: ClusterLink;

  beforeEach(() => {
    view = new FakeView();
    link = new ClusterLink(view as unknown as ClusterView, 'h:1', 100);
  });

  const send = (key = 'a') => link.send('evalsha', [], key, undefined);

  async function errorOf(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'none',
      (error: Error) => error.message,
    );
  }

  it('sends to the master of the slot of the key', async () => {
    expect(await send('{x}y')).to.equal('fine');
    expect(view.slots).to.deep.equal([slotOf('x')]);
    expect(view.owner?.log).to.deep.equal(['evalsha']);
    expect(link.slotOf('{x}y')).to.equal(slotOf('x'));
  });

  it('can send when the cluster is known and the master of the slot can be used', async () => {
    expect(link.canSend('a')).to.equal(true);
    view.owner!.ready = false;
    expect(link.canSend('a')).to.equal(false);
    view.owner = undefined;
    expect(link.canSend('a')).to.equal(false);
    expect(await errorOf(send())).to.contain('writeable');
    view.owner = new FakeNode();
    view.sharded = undefined;
    expect(link.canSend('a')).to.equal(false);
  });

  it('publishes as the cluster listens', () => {
    expect(link.publishCommand).to.equal('SPUBLISH');
    view.sharded = false;
    expect(link.publishCommand).to.equal('PUBLISH');
  });

  it('learns from MOVED and leaves the rest to the executor', async () => {
    view.owner!.answer = reply('MOVED 15495 h:2');
    expect(await errorOf(send())).to.equal('The cluster sends it from node to node');
    expect(view.log).to.deep.equal(['MOVED 15495 h:2']);
    expect(view.target?.log).to.deep.equal([]);
  });

  it('asks the node that ASK names, this once', async () => {
    view.owner!.answer = reply('ASK 15495 h:2');
    expect(await send()).to.equal('fine');
    expect(view.target?.log).to.deep.equal(['asking evalsha']);
    view.target!.answer = reply('TRYAGAIN Multiple keys request during rehashing of slot');
    expect(await errorOf(send())).to.contain('TRYAGAIN');
  });

  it('goes on where the node that ASK names has given the slot away, too', async () => {
    view.owner!.answer = reply('ASK 15495 h:2');
    for (const answer of ['MOVED 15495 h:3', 'ASK 15495 h:3']) {
      view.target!.answer = reply(answer);
      expect(await errorOf(send())).to.equal('The cluster sends it from node to node');
      expect(view.log.at(-1)).to.equal(answer);
    }
  });

  it('has an ASK tried again when that node is not connected yet, or makes no sense', async () => {
    view.owner!.answer = reply('ASK 15495 h:2');
    view.target!.ready = false;
    expect(await errorOf(send())).to.contain('writeable');
    view.target = undefined;
    expect(await errorOf(send())).to.equal('The cluster sends it from node to node');
  });

  it('has the cluster looked at when it is down, and passes on every other answer', async () => {
    view.owner!.answer = reply('CLUSTERDOWN The cluster is down');
    expect(await errorOf(send())).to.contain('CLUSTERDOWN');
    expect(view.log).to.deep.equal(['trouble']);
    for (const answer of [
      reply('WRONGTYPE x'),
      new Error('Connection is closed.'),
      new Error('MOVED in a message of ours'),
    ]) {
      view.owner!.answer = answer;
      expect(await errorOf(send())).to.equal(answer.message);
    }
    expect(view.log).to.deep.equal(['trouble']);
  });

  it('tells the node, and has the cluster looked at, when no answer comes', () => {
    link.unanswered('a', 7);
    expect([view.owner?.log, view.log]).to.deep.equal([['unanswered 7'], ['trouble']]);
  });
});
