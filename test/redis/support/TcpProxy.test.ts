import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';
import { monotonicNow, redisUrl, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';

describe('TcpProxy', () => {
  let proxy: TcpProxy;

  beforeEach(async () => {
    proxy = trackClient(await TcpProxy.start(redisUrl()));
  });

  function connect(options: Pick<RedisOptions, 'retryStrategy' | 'lazyConnect'> = {}): Redis {
    const client = trackClient(new Redis(proxy.url, { retryStrategy: null, ...options }));
    client.on('error', () => undefined);
    return client;
  }

  async function failureOf(promise: Promise<unknown>): Promise<string> {
    return promise.then(String, (error: unknown) => `rejected: ${String(error)}`);
  }

  /** Its answer, or that there is none; a time-out of the client would count a stall of this process, too. */
  async function answerOf(promise: Promise<unknown>): Promise<string> {
    return Promise.race([failureOf(promise), sleep(100).then(() => 'no answer')]);
  }

  it('passes everything and counts it', async () => {
    const client = connect();
    expect(await client.echo('hello')).to.equal('hello');
    expect(proxy.stats).to.include({ accepted: 1, open: 1 });
    expect(proxy.stats.bytesUp).to.be.greaterThan(10);
    expect(proxy.stats.bytesDown).to.be.greaterThan(10);
    client.disconnect();
    await sleepUntil(() => proxy.stats.open === 0);
  });

  it('passes replies larger than a chunk', async () => {
    // Between sockets: the parser of ioredis 5 keeps a timer for a while after a large reply.
    const big = `$3000000\r\n${'x'.repeat(3_000_000)}\r\n`;
    const server = net.createServer((socket) => socket.once('data', () => socket.write(big))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const through = trackClient(
      await TcpProxy.start(`redis://127.0.0.1:${(server.address() as net.AddressInfo).port}`),
    );
    const socket = net.connect(through.port, '127.0.0.1').setEncoding('latin1');
    socket.write('*1\r\n$4\r\nPING\r\n');
    let reply = '';
    for await (const chunk of socket) {
      reply += String(chunk);
      if (reply.length >= big.length) break;
    }
    server.close();
    expect(reply === big, `${reply.length} of ${big.length}`).to.equal(true);
  });

  it('cuts open connections and serves new ones', async () => {
    const client = connect({ retryStrategy: () => 1 });
    await client.ping();
    expect(proxy.cut()).to.equal(1);
    await sleepUntil(() => proxy.stats.accepted === 2);
    expect(await client.ping()).to.equal('PONG');
  });

  it('swallows bytes both ways in a black hole', async () => {
    const client = connect();
    await client.ping();
    proxy.blackhole();
    expect(await answerOf(client.ping())).to.equal('no answer');
    expect(proxy.stats.open).to.equal(1);
  });

  it('lets requests through when only the way down is a black hole', async () => {
    const name = uniqueName();
    const client = connect();
    const direct = trackClient(new Redis(redisUrl()));
    await client.ping();
    proxy.blackhole('down');
    const set = failureOf(client.set(name, 'done', 'PX', 5000));
    await sleepUntil(async () => (await direct.get(name)) === 'done');
    expect(await answerOf(set)).to.equal('no answer');
  });

  it('delays, and keeps the order', async () => {
    const client = connect();
    await client.ping();
    proxy.delay(40, 'down');
    const started = monotonicNow();
    const { bytesDown } = proxy.stats;
    const slow = client.echo('slow');
    await sleepUntil(() => proxy.stats.bytesDown > bytesDown);
    proxy.delay(0);
    expect(await Promise.all([slow, client.echo('fast')])).to.deep.equal(['slow', 'fast']);
    expect(monotonicNow() - started).to.be.greaterThan(30);
  });

  it('delivers at once what it has delayed, and delays no more', async () => {
    const client = connect();
    await client.ping();
    proxy.delay(60_000, 'down');
    const { bytesDown } = proxy.stats;
    const late = client.echo('late');
    await sleepUntil(() => proxy.stats.bytesDown > bytesDown);
    proxy.deliver();
    expect(await Promise.all([late, client.echo('next')])).to.deep.equal(['late', 'next']);
  });

  it('refuses, and accepts again on the same port', async () => {
    const client = connect();
    await client.ping();
    proxy.refuse();
    const { port } = proxy;
    expect(await failureOf(connect({ lazyConnect: true }).connect())).to.match(/ECONNREFUSED|closed/);
    expect(await client.ping(), 'open connections stay').to.equal('PONG');
    await proxy.pass();
    expect(proxy.port).to.equal(port);
    expect(await connect().ping()).to.equal('PONG');
  });

  for (const then of ['hang', 'cut'] as const) {
    it(`loses exactly the reply of the chosen command, then: ${then}`, async () => {
      const name = uniqueName();
      const client = connect();
      const direct = trackClient(new Redis(redisUrl()));
      await client.ping();
      const lost = proxy.swallowNextReply({ command: 'set', then });
      const replies = [client.echo('before'), client.set(name, 'done', 'PX', 5000), client.echo('after')];
      const [before, ...behind] = replies.map(failureOf);
      await lost;
      expect(await before).to.equal('before');
      for (const reply of behind) {
        if (then === 'cut') expect(await reply).to.match(/^rejected/);
        else expect(await answerOf(reply)).to.equal('no answer');
      }
      expect(await direct.get(name)).to.equal('done');
      expect(proxy.stats.open).to.equal(then === 'hang' ? 1 : 0);
    });
  }

  it('loses a reply and goes on', async () => {
    const client = connect();
    await client.ping();
    const lost = proxy.swallowNextReply({ command: /echo/i, then: 'pass' });
    const [first, second] = [client.echo('lost'), client.echo('shifted')].map(failureOf);
    await lost;
    expect(await first).to.equal('shifted');
    expect(await answerOf(second!)).to.equal('no answer');
  });
});
