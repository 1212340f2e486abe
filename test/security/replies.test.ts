import { expect } from 'chai';
import fc from 'fast-check';
import * as net from 'node:net';
import { Redisson, RedissonError } from '../../lib';
import { fuzz } from './fuzz';

/** An answer of any kind, in the bytes of RESP 2; most are well-formed, and none is what was asked for. */
const reply: fc.Arbitrary<string> = fc.letrec<{ one: string }>((tie) => ({
  one: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer().map((n) => `:${n}\r\n`),
    fc.constantFrom('+OK\r\n', '+\r\n', '$-1\r\n', '*-1\r\n', '*0\r\n', '$0\r\n\r\n', ':99999999999999999999\r\n'),
    fc.constantFrom('-ERR x\r\n', '-NOSCRIPT x\r\n', '-WRONGTYPE x\r\n', '-OOM x\r\n', '-\r\n', '-MOVED 1 x:1\r\n'),
    fc.constantFrom(
      '-LOADING x\r\n',
      '-READONLY x\r\n',
      '-NOAUTH x\r\n',
      '-BUSY x\r\n',
      '-UNKILLABLE\r\n',
      '-NOPERM x\r\n',
    ),
    fc.string({ maxLength: 8 }).map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
    fc.array(tie('one'), { maxLength: 4 }).map((all) => `*${all.length}\r\n${all.join('')}`),
    // Not RESP at all.
    fc.constantFrom(
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      '$5\r\nab',
      '*3\r\n:1\r\n',
      '!',
      '\0\0\0\0',
      '*99999999\r\n',
      '\r\n',
    ),
  ),
})).one;

/** Answers each chunk that arrives with the next reply; the greeting as Redis does. */
class OddServer {
  readonly #server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => this.#answer(socket, data.toString('latin1')));
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  });
  readonly #sockets = new Set<net.Socket>();
  replies: readonly string[] = [];
  #next = 0;

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `redis://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #answer(socket: net.Socket, data: string): void {
    const isGreeting = /\b(info|client|ping|select|hello|auth|script|subscribe|unsubscribe)\r\n/i.test(data);
    const count = data.split(/\*\d+\r\n\$/).length - 1;
    if (isGreeting) {
      const info = 'redis_version:7.0.0\r\nrole:master\r\n';
      for (let i = 0; i < Math.max(1, count); i++)
        socket.write(/\binfo\r\n/i.test(data) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
      return;
    }
    socket.write(this.replies[this.#next++ % this.replies.length] ?? '+OK\r\n');
  }
}

describe('fuzzing the replies of a server', function () {
  this.timeout(120_000);

  it('whatever a server says: each call answers or rejects with our error, and the client closes', async () => {
    let rejected = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(reply, { minLength: 1, maxLength: 6 }), async (replies) => {
        const server = new OddServer();
        server.replies = replies;
        const redisson = Redisson.create({
          ...{
            url: await server.start(),
            timeout: 40,
            retryAttempts: 0,
            connectTimeout: 200,
            subscriptionTimeout: 100,
          },
        });
        try {
          const lock = redisson.getLock('a');
          const calls = [
            () => lock.tryLock(),
            () => lock.isLocked(),
            () => redisson.getFairLock('f').tryLock(),
            () => redisson.getReadWriteLock('r').readLock().tryLock(),
            () => redisson.getFencedLock('t').tryLockAndGetToken(),
            () => redisson.getSemaphore('s').tryAcquire(),
            () => redisson.getPermitExpirableSemaphore('p').tryAcquire(),
            () => redisson.getCountDownLatch('l').getCount(),
          ];
          await Promise.all(
            calls.map(async (call) => {
              await call().catch((error: unknown) => {
                expect(error, String((error as Error).stack ?? error)).to.be.instanceOf(RedissonError);
                rejected += 1;
              });
            }),
          );
        } finally {
          await redisson.shutdown();
          server.stop();
        }
      }),
      { ...fuzz(60), endOnFailure: true },
    );
    expect(rejected).to.be.greaterThan(50);
  });
});
