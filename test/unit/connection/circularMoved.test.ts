// Ids in titles: test/README.md
import { once } from 'node:events';
import * as net from 'node:net';
import { expect } from 'chai';
import { Config, Redisson } from '../../../lib';
import { slotOf } from '../../../lib/util/names';
import { trackClient, uniqueName } from '../../support';
import { RespFrames } from '../../support/respFrames';

/** A cluster of one node behind a proxy. After {@link exchange} its old sockets answer MOVED to itself. */
class ManagedEndpoint {
  readonly #server = net.createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<net.Socket>();
  #former = new Set<net.Socket>();
  /** Connections so far. */
  accepted = 0;
  /** How often it has answered MOVED. */
  moved = 0;

  static async start(): Promise<ManagedEndpoint> {
    const endpoint = new ManagedEndpoint();
    endpoint.#server.listen(0, '127.0.0.1');
    await once(endpoint.#server, 'listening');
    return endpoint;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  exchange(): void {
    this.#former = new Set(this.#sockets);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: net.Socket): void {
    const frames = new RespFrames();
    this.accepted++;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const frame of frames.push(data)) socket.write(this.#answer(socket, frame.toString().split('\r\n')));
    });
  }

  #answer(socket: net.Socket, words: readonly string[]): string {
    const [command, first] = [words[2]!.toLowerCase(), words[4] ?? ''];
    if (command === 'cluster') return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${this.port}\r\n`;
    if (command === 'info') return '$26\r\nrole:master\r\nloading:0\r\n\r\n\r\n';
    if (command === 'hello') return '%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n';
    if (command === 'pubsub') return '-ERR unknown command\r\n';
    if (command !== 'hlen') return '+OK\r\n';
    if (!this.#former.has(socket)) return ':0\r\n';
    this.moved++;
    return `-MOVED ${slotOf(first)} 127.0.0.1:${this.port}\r\n`;
  }
}

describe('an endpoint whose old sockets answer MOVED to themselves', () => {
  it('C13: gets a new connection, once for all answers of the old one', async () => {
    const endpoint = trackClient(await ManagedEndpoint.start());
    const config = new Config();
    config.useClusterServers().addNodeAddress(`redis://127.0.0.1:${endpoint.port}`);
    const client = trackClient(Redisson.create(config));
    const ask = (): Promise<boolean> => client.getLock(uniqueName()).isLocked();
    expect(await ask()).to.equal(false);
    const before = endpoint.accepted;
    for (let round = 1; round <= 2; round++) {
      endpoint.exchange();
      expect(await Promise.all(Array.from({ length: 20 }, ask))).to.deep.equal(Array(20).fill(false));
      expect(endpoint.accepted).to.equal(before + round);
      expect(endpoint.moved).to.equal(20 * round);
    }
  });
});
