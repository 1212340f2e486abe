import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ConnectionError, type Redisson, type RPermitExpirableSemaphore, type RSemaphore } from '../../lib';
import { RedisServer, sleep, sleepUntil, type TcpProxy, trackClient, uniqueName } from '../support';
import { client, connection, LONG_LEASE_MS, openScene, SOON_MS, subscribers, within } from './scene';

/** Something with one permit, or one gate, that a waiter waits for. */
interface Gate {
  readonly title: string;
  /** Makes it, with nothing to be had. */
  shut(client: Redisson, name: string): Promise<unknown>;
  /** Makes it available. */
  open(client: Redisson, name: string): Promise<unknown>;
  /** Waits until it is there. */
  pass(client: Redisson, name: string, signal?: AbortSignal): Promise<unknown>;
  /** Removes it. */
  delete(client: Redisson, name: string): Promise<unknown>;
}

const GATES: readonly Gate[] = [
  {
    title: 'semaphore',
    shut: (client, name) => client.getSemaphore(name).trySetPermits(0),
    open: (client, name) => client.getSemaphore(name).release(),
    pass: (client, name, signal) => client.getSemaphore(name).acquire(1, signal && { signal }),
    delete: (client, name) => client.getSemaphore(name).delete(),
  },
  {
    title: 'permit-expirable semaphore',
    shut: (client, name) => client.getPermitExpirableSemaphore(name).trySetPermits(0),
    open: (client, name) => client.getPermitExpirableSemaphore(name).addPermits(1),
    pass: (client, name, signal) =>
      client.getPermitExpirableSemaphore(name).acquire(LONG_LEASE_MS, undefined, signal && { signal }),
    delete: (client, name) => client.getPermitExpirableSemaphore(name).delete(),
  },
  {
    title: 'count-down latch',
    shut: (client, name) => client.getCountDownLatch(name).trySetCount(1),
    open: (client, name) => client.getCountDownLatch(name).countDown(),
    pass: (client, name, signal) => client.getCountDownLatch(name).await(SOON_MS * 2, undefined, signal && { signal }),
    delete: (client, name) => client.getCountDownLatch(name).delete(),
  },
];

async function untilSubscribed(direct: Redis, name: string): Promise<void> {
  await sleepUntil(async () => (await subscribers(direct, name)) > 0, { message: 'the waiter is subscribed' });
}

for (const gate of GATES) {
  describe(`${gate.title}, under faults`, () => {
    let name: string;

    beforeEach(() => {
      name = uniqueName('gate');
    });

    it('wakes a waiter whose subscriber was killed and who missed the message', async () => {
      const { proxy, direct, url } = await openScene();
      const other = client(url);
      await gate.shut(other, name);
      const waiting = gate.pass(client(proxy.url), name);
      await untilSubscribed(direct, name);
      proxy.refuse();
      await direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await gate.open(other, name);
      await proxy.accept();
      await within(SOON_MS, 'the waiter gets in', waiting);
      await gate.delete(other, name);
    });

    it('lets a waiter in that found it opened after a restart', async () => {
      const server = trackClient(await RedisServer.start());
      const direct = connection(server.url);
      const other = client(server.url);
      await gate.shut(other, name);
      const waiting = gate.pass(client(server.url), name);
      await untilSubscribed(direct, name);
      await server.restart();
      await gate.shut(other, name);
      await gate.open(other, name);
      await within(SOON_MS, 'the waiter gets in', waiting);
      await direct.ping();
    });

    it('leaves an aborted waiter without a subscription, and the others with theirs', async () => {
      const { direct, url } = await openScene();
      const other = client(url);
      await gate.shut(other, name);
      const redisson = client(url);
      const controller = new AbortController();
      const aborted = gate.pass(redisson, name, controller.signal).catch((error: unknown) => error);
      const waiting = gate.pass(redisson, name);
      await untilSubscribed(direct, name);
      controller.abort('enough');
      expect(await aborted).to.equal('enough');
      await gate.open(other, name);
      await within(SOON_MS, 'the waiter gets in', waiting);
      await gate.delete(other, name);
    });
  });
}

/** One synchronizer as two clients see it: the `far` one is behind the proxy. All are closed after the test. */
async function bothSides<T>(
  get: (redisson: Redisson, name: string) => T,
): Promise<{ readonly proxy: TcpProxy; readonly other: T; readonly far: T }> {
  const { proxy, url } = await openScene();
  const name = uniqueName('synchronizer');
  return { proxy, other: get(client(url), name), far: get(client(proxy.url), name) };
}

/** Makes a call; the reply to its script, which runs, is lost with the connection. */
async function losingReply<T>(proxy: TcpProxy, call: () => Promise<T>): Promise<T> {
  const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
  const result = await call();
  await lost;
  return result;
}

/** Lets late answers through, and resolves when all five permits are back. */
async function untilGivenBack(proxy: TcpProxy, other: RSemaphore | RPermitExpirableSemaphore): Promise<void> {
  await proxy.pass();
  await sleep(500);
  await sleepUntil(async () => (await other.availablePermits()) === 5, { timeout: SOON_MS, message: 'given back' });
}

describe('a lost reply to a synchronizer', () => {
  it('costs a plain semaphore one permit at most: it is told, since nobody can ask who has it', async () => {
    const { proxy, other, far: semaphore } = await bothSides((one, name) => one.getSemaphore(name));
    await other.trySetPermits(5);
    await semaphore.acquire();
    const error = await losingReply(proxy, () => semaphore.acquire().catch((reason: unknown) => reason));
    expect(error).to.be.instanceOf(ConnectionError).with.property('mayHaveRun', true);
    expect(await other.availablePermits()).to.equal(3);
    await other.delete();
  });

  it('gives the permit of a plain semaphore back that came too late', async () => {
    const { proxy, other, far: semaphore } = await bothSides((one, name) => one.getSemaphore(name));
    await other.trySetPermits(5);
    await semaphore.acquire();
    await semaphore.release();
    proxy.delay(200);
    expect(await semaphore.tryAcquire(1, 100)).to.be.false;
    await untilGivenBack(proxy, other);
    await other.delete();
  });

  it('leads to one permit with an id, which can be released', async () => {
    const { proxy, other, far: semaphore } = await bothSides((one, name) => one.getPermitExpirableSemaphore(name));
    await other.trySetPermits(5);
    await semaphore.release(await semaphore.acquire());
    const id = await losingReply(proxy, () => semaphore.acquire(LONG_LEASE_MS));
    expect(await other.availablePermits()).to.equal(4);
    await losingReply(proxy, () => semaphore.release(id));
    expect(await other.availablePermits()).to.equal(5);
    await other.delete();
  });

  it('leaves no permit with an id behind when its waiter was aborted', async () => {
    const { proxy, other, far: semaphore } = await bothSides((one, name) => one.getPermitExpirableSemaphore(name));
    await other.trySetPermits(5);
    await semaphore.release(await semaphore.acquire());
    proxy.delay(200);
    expect(await semaphore.tryAcquire(100, LONG_LEASE_MS)).to.equal(null);
    await untilGivenBack(proxy, other);
    await other.delete();
  });

  it('counts a latch down once at most: it is told, since a repeat would count twice', async () => {
    const { proxy, other, far: latch } = await bothSides((one, name) => one.getCountDownLatch(name));
    await other.trySetCount(5);
    await latch.countDown();
    const error = await losingReply(proxy, () => latch.countDown().catch((reason: unknown) => reason));
    expect(error).to.be.instanceOf(ConnectionError).with.property('mayHaveRun', true);
    expect(await other.getCount()).to.equal(3);
    await other.delete();
  });
});
