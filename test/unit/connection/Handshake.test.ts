// Ids in titles: test/README.md
import { expect } from 'chai';
import { once } from 'node:events';
import * as net from 'node:net';
import { Handshake } from '../../../lib/connection/link/Handshake';
import { TLS_HINTS } from '../../../lib/connection/link/driverError';
import { sleepUntil } from '../../support';
import { FakeConnection } from './fakeConnection';

describe('Handshake', () => {
  function watch(port = 6379): { connection: FakeConnection; handshake: Handshake; told: string[] } {
    const connection = new FakeConnection();
    Object.assign(connection.stream, { remoteAddress: '127.0.0.1', remotePort: port });
    const told: string[] = [];
    const tell = (error: Error, refused: boolean): number =>
      told.push(`${refused ? 'refused' : 'trouble'}: ${error.message}`);
    const handshake = new Handshake(connection.redis, 1_000, tell);
    connection.emit('connect');
    return { connection, handshake, told };
  }

  it('a socket may have another error after the first, of which ioredis has heard: the alert of a TLS server', () => {
    const { connection } = watch();
    connection.emit('error', new Error('self-signed certificate'));
    connection.stream.emit('error', new Error('tlsv1 alert decode error'));
  });

  const REFUSED = [
    'DENIED Redis is running in protected mode because no password is set. In this mode connections are only accepted from the loopback interface.',
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    'ERR Client sent AUTH, but no password is set',
  ];
  for (const text of REFUSED) {
    it(`is refused by what the server says before any command: ${text.slice(0, 30)} (B1)`, () => {
      const { connection, handshake, told } = watch();
      connection.stream.emit('data', Buffer.from(`-${text}\r\n`));
      expect(told).to.deep.equal([`refused: ${text}`]);
      expect(handshake.refused).to.equal(true);
      handshake.done();
    });
  }

  it('is full for now', () => {
    const { connection, handshake, told } = watch();
    connection.stream.emit('data', Buffer.from('-ERR max number of clients reached\r\n'));
    expect(told).to.deep.equal(['trouble: ERR max number of clients reached']);
    expect(handshake.refused).to.equal(true);
    handshake.done();
  });

  describe('a connection that is reset before anything was read', () => {
    const RESET = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

    async function toldBy(serve: (socket: net.Socket) => void): Promise<string[]> {
      const server = net.createServer(serve).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as net.AddressInfo;
      const { connection, handshake, told } = watch(port);
      connection.emit('error', RESET);
      connection.emit('close');
      await sleepUntil(() => told.length > 0);
      handshake.done();
      server.close();
      return told;
    }

    it('is told as what the server says to one who only listens', async () => {
      const full = '-ERR max number of clients reached\r\n';
      expect(await toldBy((socket) => socket.end(full))).to.deep.equal(['trouble: ERR max number of clients reached']);
      const text = REFUSED[0]!;
      expect(await toldBy((socket) => socket.end(`-${text}\r\n`))).to.deep.equal([`refused: ${text}`]);
    });

    it('is told as that where the server says nothing', async () => {
      expect(await toldBy((socket) => socket.end())).to.deep.equal([`trouble: write EPIPE (${TLS_HINTS.maybeTheirs})`]);
      // One that waits for us to begin is not waited for.
      expect(await toldBy((socket) => socket.on('error', () => undefined).resume())).to.deep.equal([
        `trouble: write EPIPE (${TLS_HINTS.maybeTheirs})`,
      ]);
    });

    it('is told by nobody after the end of the client', async () => {
      const { connection, told } = watch(1);
      connection.emit('error', RESET);
      connection.emit('close');
      connection.emit('end');
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(told).to.deep.equal([]);
    });
  });

  it('takes nothing of a good answer for a refusal, and does not listen on', () => {
    const { connection, handshake, told } = watch();
    connection.stream.emit('data', Buffer.from('%7\r\n+OK\r\n-ERR unknown subcommand\r\n$9\r\nloading:0\r\n'));
    expect(told).to.deep.equal([]);
    handshake.done();
    expect(connection.stream.listenerCount('data')).to.equal(0);
  });

  it('any answer to the handshake but a good one is a refusal, whatever its text', () => {
    const { connection, handshake, told } = watch();
    connection.emit('error', Object.assign(new Error('NEW some refusal of tomorrow'), { name: 'ReplyError' }));
    connection.emit('error', new Error('Ready check failed: ERR no INFO for you'));
    expect(told).to.deep.equal(['refused: NEW some refusal of tomorrow', 'refused: ERR no INFO for you']);
    expect(handshake.refused).to.equal(true);
    connection.emit('close');
    connection.emit('connect');
    expect(handshake.refused).to.equal(false);
    handshake.done();
  });
});
