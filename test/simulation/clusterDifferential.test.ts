import { expect } from 'chai';
import { once } from 'node:events';
import * as net from 'node:net';
import { slotOf } from '../../lib/util/names';
import { trackClient } from '../support';
import { askServer, beginMigration, nameOn, needShards } from '../support/clusterTools';
import { RedisCluster } from '../support/RedisCluster';
import { Loop, SimProcess } from './engine/Loop';
import { SimSocket } from './net/SimSocket';
import { SimCluster } from './server/SimCluster';

/** How often the virtual time goes on so far, until everything has arrived, in ms. */
const LATER_MS = 50;

/** A connection to the same node of both clusters. */
interface Connection {
  readonly ours: SimSocket;
  readonly theirs: net.Socket;
  /** What has come that nobody has looked at. */
  oursText: string;
  theirsText: string;
}

function wire(commands: readonly (readonly string[])[]): string {
  const bulk = (word: string): string => `$${word.length}\r\n${word}\r\n`;
  return commands.map((words) => `*${words.length}\r\n${words.map(bulk).join('')}`).join('');
}

describe('the simulated cluster', function () {
  this.timeout(60_000);
  let cluster: RedisCluster;
  let loop: Loop;
  let sim: SimCluster;

  before(async function () {
    cluster = trackClient(await RedisCluster.start());
    await needShards(this, cluster);
  });

  beforeEach(() => {
    loop = new Loop(1);
    const profile = { sharded: true, lossy: false, fullCoverage: true, nodeTimeoutMs: 1_000, scanIntervalMs: 1_000 };
    sim = new SimCluster(loop, profile, new Map());
  });

  const later = (): Promise<void> => loop.run(() => false, loop.now + LATER_MS);

  async function connect(node: number): Promise<Connection> {
    const ours = loop.as(new SimProcess('p'), () => new SimSocket(loop, sim.nodes[node]!.server, () => 0.1));
    const { host, port } = cluster.masters[node]!;
    const socket = net.connect({ host, port });
    trackClient({ close: () => void socket.destroy() });
    const connection = { ours, theirs: socket, oursText: '', theirsText: '' };
    ours.on('data', (data: Buffer) => (connection.oursText += data.toString('latin1')));
    socket.on('data', (data: Buffer) => (connection.theirsText += data.toString('latin1')));
    await Promise.all([once(socket, 'connect'), later()]);
    return connection;
  }

  /** Lines of RESP, with numbers of nodes for their addresses and without the lengths of texts. */
  function lines(text: string): string[] {
    const nodes = [
      sim.nodes.map(({ server }) => server.endpoint),
      cluster.masters.map(({ host, port }) => `${host}:${port}`),
    ];
    for (const all of nodes) all.forEach((node, i) => (text = text.replaceAll(node, `node ${i}`)));
    return text.split('\r\n').filter((line) => line !== '' && !/^\$\d/.test(line));
  }

  /** Both have got the same. @returns it */
  async function got(connection: Connection): Promise<string[]> {
    await later();
    const ours = lines(connection.oursText);
    while (lines(connection.theirsText).length < ours.length) await once(connection.theirs, 'data');
    const theirs = lines(connection.theirsText);
    connection.oursText = connection.theirsText = '';
    expect(ours).to.deep.equal(theirs);
    return theirs;
  }

  /** Both answer the same to these commands. @returns it */
  function ask(connection: Connection, ...commands: (readonly string[])[]): Promise<string[]> {
    connection.ours.write(wire(commands));
    connection.theirs.write(wire(commands));
    return got(connection);
  }

  const name = (node: number): Promise<string> => nameOn(cluster, cluster.masters[node]!, 'simulated');

  it('sends elsewhere what belongs elsewhere, and refuses what belongs to two', async () => {
    const [here, there] = [await name(0), await name(1)];
    for (const one of [here, `{${here}}:x`, `a{${there}}b`, '{}x', '{{y}}']) {
      const slot = await askServer(cluster.masters[0]!, (client) => client.call('CLUSTER', 'KEYSLOT', one));
      expect(slotOf(one)).to.equal(slot);
    }
    const node = await connect(0);
    expect(await ask(node, ['GET', here])).to.deep.equal(['$-1']);
    expect(await ask(node, ['GET', there])).to.deep.equal([`-MOVED ${slotOf(there)} node 1`]);
    expect(await ask(node, ['EVAL', 'return 1', '2', there, `{${there}}`])).to.deep.equal([
      `-MOVED ${slotOf(there)} node 1`,
    ]);
    expect(await ask(node, ['EVAL', 'return 1', '2', here, there])).to.have.length(1);
    expect(await ask(node, ['EXISTS', here, there])).to.have.length(1);
    expect(await ask(node, ['EVAL', 'return 1', '0'])).to.deep.equal([':1']);
    expect(await ask(node, ['ASKING'], ['GET', there], ['READONLY'])).to.have.length(3);
  });

  it('hears sharded messages at the owner of their slot, and classic ones everywhere', async () => {
    const [mine, other] = [await name(0), await name(1)];
    const [listener, speaker, far] = [await connect(0), await connect(0), await connect(2)];
    expect(await ask(speaker, ['PUBSUB', 'SHARDNUMSUB', mine])).to.deep.equal(['*2', mine, ':0']);
    expect(await ask(listener, ['SSUBSCRIBE', mine])).to.deep.equal(['*3', 'ssubscribe', mine, ':1']);
    expect(await ask(listener, ['SSUBSCRIBE', other])).to.deep.equal([`-MOVED ${slotOf(other)} node 1`]);
    await ask(listener, ['SSUBSCRIBE', mine, other]);
    await ask(listener, ['SSUBSCRIBE', `{${mine}}`]);
    expect(await ask(speaker, ['SPUBLISH', mine, 'm'])).to.deep.equal([':1']);
    expect(await got(listener)).to.deep.equal(['*3', 'smessage', mine, 'm']);
    await ask(speaker, ['SPUBLISH', other, 'm']);
    await ask(speaker, ['PUBSUB', 'SHARDNUMSUB', mine, other]);
    await ask(listener, ['SUNSUBSCRIBE', mine], ['SUNSUBSCRIBE', `{${mine}}`]);
    expect(await ask(far, ['SUBSCRIBE', mine])).to.deep.equal(['*3', 'subscribe', mine, ':1']);
    expect(await ask(speaker, ['PUBLISH', mine, 'c'])).to.deep.equal([':0']);
    expect(await got(far)).to.deep.equal(['*3', 'message', mine, 'c']);
  });

  it('moves a slot as a real one', async () => {
    const base = await name(0);
    const [there, missing] = [`{${base}}:there`, `{${base}}:missing`];
    const [from, to, listener] = [await connect(0), await connect(1), await connect(0)];
    const slot = slotOf(base);
    await ask(from, ['SET', there, 'x']);
    await ask(listener, ['SSUBSCRIBE', base]);
    const migration = await beginMigration(cluster, base, cluster.masters[1]);
    sim.open(slot, sim.nodes[1]!);
    expect(await ask(from, ['GET', there])).to.deep.equal(['x']);
    expect(await ask(from, ['GET', missing])).to.deep.equal([`-ASK ${slot} node 1`]);
    await ask(from, ['EXISTS', there, missing]);
    await ask(from, ['EVAL', 'return 1', '2', missing, `${missing}2`]);
    await ask(from, ['SSUBSCRIBE', missing]);
    expect(await ask(to, ['GET', there])).to.deep.equal([`-MOVED ${slot} node 0`]);
    expect(await ask(to, ['ASKING'], ['GET', there], ['GET', there])).to.have.length(3);
    await ask(to, ['ASKING'], ['EXISTS', there, missing]);
    await ask(to, ['ASKING'], ['EXISTS', missing]);
    await ask(to, ['SSUBSCRIBE', base]);
    await migration.moveKeys();
    sim.moveKey(there);
    expect(await ask(from, ['GET', there])).to.deep.equal([`-ASK ${slot} node 1`]);
    await ask(from, ['EXISTS', there, missing]);
    expect(await ask(to, ['ASKING'], ['GET', there])).to.deep.equal(['+OK', 'x']);
    await ask(to, ['ASKING'], ['EXISTS', there, missing]);
    await migration.finish();
    sim.assign([slot], sim.nodes[1]!, sim.nodes[0]);
    expect(await got(listener)).to.deep.equal(['*3', 'sunsubscribe', base, ':0']);
    expect(await ask(from, ['GET', there])).to.include(`-MOVED ${slot} node 1`);
    await ask(listener, ['SSUBSCRIBE', base]);
    expect(await ask(to, ['GET', there], ['EXISTS', there, missing])).to.deep.equal(['x', ':1']);
    expect(await ask(to, ['SSUBSCRIBE', base])).to.deep.equal(['*3', 'ssubscribe', base, ':1']);
  });
});
