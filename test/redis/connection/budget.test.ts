import { expect } from 'chai';
import { CommandTimeoutError, ConfigError, type ConnectionChange, ConnectionError, Redisson } from '../../../lib';
import { RedisServer, sleepUntil, trackClient } from '../../support';

/** Of the client, in ms: short, so that the tests are. */
const TIMEOUT = 500;
const RETRIES = 1;
/** How long a call may wait for a connection: `timeout`, and 1 s for each retry. */
const CONNECTION = TIMEOUT + RETRIES * 1_000;
/** A round trip, on a busy machine. */
const ROUND_TRIP = 400;

/** What only asks, and single attempts to acquire. */
const BRIEF: Readonly<Record<string, (client: Redisson) => Promise<unknown>>> = {
  ping: (client) => client.ping(),
  isLocked: (client) => client.getLock('a').isLocked(),
  'isLocked of a group': (client) => client.getMultiLock('g', ['1', '2']).isLocked(),
  'isLocked of a read lock': (client) => client.getReadWriteLock('rw').readLock().isLocked(),
  getHoldCount: (client) => client.getLock('a').getHoldCount(),
  remainTimeToLive: (client) => client.getFairLock('a').remainTimeToLive(),
  availablePermits: (client) => client.getSemaphore('s').availablePermits(),
  'getPermits of permits with ids': (client) => client.getPermitExpirableSemaphore('p').getPermits(),
  getCount: (client) => client.getCountDownLatch('l').getCount(),
  tryLock: (client) => client.getLock('b').tryLock(),
  'tryLock of a fair lock': (client) => client.getFairLock('c').tryLock(),
  'tryLock of a group': (client) => client.getMultiLock('g', ['3']).tryLock(),
  tryAcquire: (client) => client.getSemaphore('s').tryAcquire(),
  'tryAcquire of a permit': (client) => client.getPermitExpirableSemaphore('p').tryAcquire(),
  runOnce: (client) => client.runOnce('d', () => 1),
};

/** What changes something, and persists. */
const PATIENT: Readonly<Record<string, (client: Redisson) => Promise<unknown>>> = {
  unlock: (client) => client.getLock('held').unlock(1),
  addPermits: (client) => client.getSemaphore('s').addPermits(1),
  forceUnlock: (client) => client.getLock('a').forceUnlock(),
  release: (client) => client.getSemaphore('s').release(),
  countDown: (client) => client.getCountDownLatch('l').countDown(),
  setPermits: (client) => client.getPermitExpirableSemaphore('p').setPermits(2),
  delete: (client) => client.getCountDownLatch('l').delete(),
  lock: (client) => client.getLock('e').lock(),
};

describe('the longest time of a call (E12)', function () {
  this.timeout(30_000);
  let server: RedisServer;
  let client: Redisson;

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    client = trackClient(Redisson.create({ url: server.url, timeout: TIMEOUT, retryAttempts: RETRIES }));
    await client.getLock('held').lock(-1, undefined, 1);
  });

  /** What is still under way, as `name: ms`, for those that took longer than they may. Each has to reject. */
  async function tooLong(calls: typeof BRIEF, limit: number): Promise<string[]> {
    const startedAt = performance.now();
    const took = Object.entries(calls).map(async ([name, call]) => {
      const error: unknown = await call(client).catch((thrown: unknown) => thrown);
      const ms = Math.round(performance.now() - startedAt);
      const rejected = error instanceof ConnectionError || error instanceof CommandTimeoutError;
      return rejected && ms <= limit + ROUND_TRIP ? [] : [`${name}: ${ms} ms, ${String(error)}`];
    });
    return (await Promise.all(took)).flat();
  }

  it('on a frozen server, and again when its connection was given up', async () => {
    server.pause();
    const patient = tooLong(PATIENT, 2 * TIMEOUT + CONNECTION);
    expect(await tooLong(BRIEF, TIMEOUT)).to.deep.equal([]);
    expect(await tooLong(BRIEF, TIMEOUT)).to.deep.equal([]);
    expect(await tooLong(BRIEF, TIMEOUT)).to.deep.equal([]);
    expect(await patient).to.deep.equal([]);
    expect(await tooLong(PATIENT, 2 * TIMEOUT + CONNECTION)).to.deep.equal([]);
    server.resume();
  });

  it('where nothing listens any more: a failover may end that; a ping has no such patience', async () => {
    await server.kill();
    const rest = tooLong({ ...BRIEF, ...PATIENT }, CONNECTION);
    expect(await tooLong({ ping: BRIEF['ping']! }, TIMEOUT)).to.deep.equal([]);
    expect(await rest).to.deep.equal([]);
  });

  it('where nothing ever listened', async () => {
    await server.kill();
    client = trackClient(Redisson.create({ url: server.url, timeout: TIMEOUT, retryAttempts: RETRIES }));
    const patient = tooLong(PATIENT, CONNECTION);
    expect(await tooLong(BRIEF, TIMEOUT)).to.deep.equal([]);
    expect(await patient).to.deep.equal([]);
  });

  it('of a ping is what it says, and it can be aborted', async () => {
    server.pause();
    const limited = client.ping({ timeout: 100 }).catch((error: unknown) => error);
    const startedAt = performance.now();
    expect(await limited).to.be.instanceOf(CommandTimeoutError);
    expect(performance.now() - startedAt).to.be.within(95, 100 + ROUND_TRIP);
    const controller = new AbortController();
    const aborted = client.ping({ signal: controller.signal }).catch((error: unknown) => error);
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await aborted).to.equal(reason);
    expect(await client.ping({ signal: controller.signal }).catch((error: unknown) => error)).to.equal(reason);
    server.resume();
    expect(await client.ping({ timeout: 5_000, signal: new AbortController().signal })).to.be.a('number');
  });

  it('of a ping that is none is refused at the call', async () => {
    for (const timeout of [-1, 0, NaN, Infinity, '500'] as number[]) {
      expect(await client.ping({ timeout }).catch((error: unknown) => error)).to.be.instanceOf(RangeError);
    }
    for (const options of [{ signal: 5 }, { limit: 5 }, 500, null] as object[]) {
      expect(await client.ping(options).catch((error: unknown) => error)).to.be.instanceOf(ConfigError);
    }
  });

  it('state is no longer ready within 2 s of a silence, until there is an answer', async () => {
    const usual = trackClient(Redisson.create(server.url));
    await usual.ping();
    const changes: ConnectionChange[] = [];
    usual.onConnectionChange((change) => changes.push(change));
    server.pause();
    const frozenAt = performance.now();
    const answered = usual.getLock('a').isLocked();
    await sleepUntil(() => usual.state === 'reconnecting');
    expect(performance.now() - frozenAt).to.be.within(1_400, 2_000);
    server.resume();
    expect(await answered).to.equal(false);
    await sleepUntil(() => usual.state === 'ready');
    expect(changes.map(({ state }) => state)).to.deep.equal(['reconnecting', 'ready']);
    expect(changes[0]!.cause?.message).to.contain('does not answer');
  });
});
