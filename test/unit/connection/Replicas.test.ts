import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { Replicas } from '../../../lib/connection/link/Replicas';
import { fakeClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { reply } from './fakeLink';

interface Asked {
  readonly text: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

describe('Replicas', () => {
  let clock: SinonFakeTimers;
  let asked: Asked[];
  let turnEnd: (() => void) | undefined;
  let replicas: Replicas;

  beforeEach(() => {
    clock = fakeClock();
    asked = [];
    turnEnd = undefined;
    const channel = {
      send: (command: string, args: (string | number)[]) =>
        new Promise((resolve, reject) => asked.push({ text: [command, ...args].join(' '), resolve, reject })),
      last: (action: () => void) => (turnEnd = action),
    };
    replicas = new Replicas(channel, 300);
  });

  const texts = () => asked.map(({ text }) => text);

  async function have(count: number): Promise<void> {
    const read = replicas.read();
    asked.pop()!.resolve(`# Replication\r\nrole:master\r\nconnected_slaves:${count}\r\nslave0:state=online`);
    await read;
  }

  function endTurn(): void {
    const action = turnEnd;
    turnEnd = undefined;
    action?.();
  }

  it('that are not there are not asked', async () => {
    await have(0);
    expect(replicas.confirm()).to.equal(undefined);
    expect(asked).to.deep.equal([]);
  });

  it('says what the server is', async () => {
    const read = replicas.read();
    asked[0]?.resolve('# Replication\r\nrole:slave\r\nmaster_host:1.2.3.4\r\n');
    expect(await read).to.equal('slave');
    const denied = replicas.read();
    asked[1]?.reject(reply('NOPERM'));
    expect(await denied).to.equal(undefined);
  });

  it('are asked once for all commands of a turn, after them', async () => {
    await have(2);
    const one = replicas.confirm();
    const two = replicas.confirm();
    expect(texts()).to.deep.equal([]);
    endTurn();
    expect(texts()).to.deep.equal(['wait 2 300']);
    asked[0]?.resolve(2);
    expect(await Promise.all([one, two])).to.deep.equal([2, 2]);
  });

  it('are asked once more for all that came while they were asked', async () => {
    await have(1);
    const first = replicas.confirm();
    endTurn();
    const later = [replicas.confirm(), replicas.confirm()];
    endTurn();
    expect(texts()).to.deep.equal(['wait 1 300']);
    asked[0]?.resolve(1);
    expect(await first).to.equal(1);
    await turn();
    endTurn();
    expect(texts()).to.deep.equal(['wait 1 300', 'wait 1 300']);
    asked[1]?.resolve(0);
    expect([await later[0], await later[1]]).to.deep.equal([0, 0]);
  });

  it('are counted anew when fewer confirm, and now and then', async () => {
    await have(2);
    const confirmed = replicas.confirm();
    endTurn();
    asked[0]?.resolve(1);
    await confirmed;
    expect(texts()).to.deep.equal(['wait 2 300', 'info replication']);
    asked[1]?.resolve('connected_slaves:0');
    await turn();
    expect(replicas.confirm()).to.equal(undefined);
    expect(asked.length).to.equal(2);
    clock.tick(1_001);
    const alone = [replicas.confirm(), replicas.confirm()];
    expect(texts().slice(2)).to.deep.equal(['info replication']);
    asked[2]?.resolve('connected_slaves:0');
    expect([await alone[0], await alone[1]]).to.deep.equal([undefined, undefined]);
    expect(replicas.confirm()).to.equal(undefined);
    await have(1);
    clock.tick(30_001);
    void replicas.confirm();
    expect(texts().at(-1)).to.equal('info replication');
  });

  it('that came after a failover confirm the first write that follows', async () => {
    await have(0);
    clock.tick(1_001);
    const confirmed = replicas.confirm();
    asked[0]?.resolve('connected_slaves:1');
    await turn();
    endTurn();
    expect(texts()).to.deep.equal(['info replication', 'wait 1 300']);
    asked[1]?.resolve(1);
    expect(await confirmed).to.equal(1);
  });

  it('confirm nothing of a connection that was lost while they were counted', async () => {
    await have(0);
    clock.tick(1_001);
    const confirmed = replicas.confirm();
    replicas.lost();
    await have(1);
    asked[0]?.reject(new Error('Connection is closed.'));
    expect(await confirmed).to.be.instanceOf(Error);
    endTurn();
    expect(texts()).to.deep.equal(['info replication']);
  });

  for (const message of ["ERR unknown command 'wait', with args beginning with: '1' '300' ", 'NOPERM no WAIT']) {
    it(`are never asked again where the answer is ${message.slice(0, 19)}`, async () => {
      await have(1);
      const confirmed = replicas.confirm();
      endTurn();
      asked[0]?.reject(reply(message));
      expect(await confirmed).to.equal(undefined);
      expect(replicas.confirm()).to.equal(undefined);
      expect(asked.length).to.equal(1);
    });
  }

  it('cannot be heard any more once the connection is lost, nor through another one', async () => {
    await have(1);
    const underWay = new Outcome(replicas.confirm()!);
    endTurn();
    const toCome = new Outcome(replicas.confirm()!);
    replicas.lost();
    await turn();
    for (const outcome of [underWay, toCome]) expect(outcome.value).to.be.instanceOf(Error);
    // The new connection has written nothing yet.
    expect(texts()).to.deep.equal(['wait 1 300']);
    asked[0]?.reject(new Error('Connection is closed.'));
    await turn();
    const next = replicas.confirm();
    endTurn();
    expect(texts().at(-1)).to.equal('wait 1 300');
    asked.at(-1)?.resolve(1);
    expect(await next).to.equal(1);
  });
});
