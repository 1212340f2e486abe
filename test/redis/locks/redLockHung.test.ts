// Ids in titles: test/README.md
import { expect } from 'chai';
import {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  LockTimeoutError,
  type LockHold,
  type Redisson,
  type RLock,
} from '../../../lib';
import { client, connection, gone, LONG_LEASE_MS, within } from '../../faults/scene';
import { monotonicNow, RedisServer, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { Inside, rejection } from '../synchronizers/support';

/** The command time-out of most clients here, in ms: who waits for a server that hangs takes as long. */
const TIMEOUT_MS = 10_000;
/** Generous for a loaded machine that stands still for two seconds, and far less than {@link TIMEOUT_MS}. */
const NO_TIME_OUT_MS = 3_500;

describe('a red lock over three servers, some of which hang (A11)', () => {
  let servers: RedisServer[];
  let name: string;
  let mine: Redisson[];

  beforeEach(async () => {
    servers = await Promise.all([RedisServer.start(), RedisServer.start(), RedisServer.start()]);
    for (const server of servers) trackClient(server);
    name = uniqueName('hung');
    mine = servers.map(({ url }) => client(url, { timeout: TIMEOUT_MS }));
    // All are connected, and know the scripts.
    await red().lock(LONG_LEASE_MS, undefined, 99);
    await red().unlock(99);
  });

  function red(clients = mine): RLock {
    return clients[0]!.getRedLock(...clients.map((each) => each.getLock(name)));
  }

  /** The three locks, where the server of the third hangs as soon as that one is taken. */
  function thirdHangsWhenTaken(): RLock[] {
    const third = mine[2]!.getLock(name) as RLock & { takeHold(...args: unknown[]): Promise<LockHold> };
    const takeHold = third.takeHold.bind(third);
    third.takeHold = async (...args) => {
      const taken = await takeHold(...args);
      servers[2]!.pause();
      return taken;
    };
    return [mine[0]!.getLock(name), mine[1]!.getLock(name), third];
  }

  it('C11: where no server answers, the time-out does not say that others hold it', async function () {
    this.timeout(15_000);
    for (const server of servers) server.pause();
    const error = (await rejection(red().acquire({ waitTime: 2_500 }))) as LockTimeoutError;
    for (const server of servers) server.resume();
    expect(error).to.be.instanceOf(LockTimeoutError);
    expect([error.reason, error.cause instanceof CommandTimeoutError]).to.deep.equal(['unanswered', true]);
  });

  it('C11: where no server can be reached, it uses its whole time, as every lock does', async function () {
    this.timeout(25_000);
    const proxies = await Promise.all(servers.map(({ url }) => TcpProxy.start(url)));
    for (const proxy of proxies) trackClient(proxy);
    const far = proxies.map(({ url }) => client(url));
    await red(far).lock(LONG_LEASE_MS, undefined, 98);
    await red(far).unlock(98);
    for (const proxy of proxies) {
      proxy.refuse();
      proxy.cut();
    }
    await sleepUntil(() => far.every(({ state }) => state !== 'ready'));
    const startedAt = monotonicNow();
    expect(await rejection(red(far).acquire({ waitTime: 3_000 }))).to.be.instanceOf(ConnectionError);
    expect(monotonicNow() - startedAt).to.be.within(2_999, 6_500);
    // Comes within reach after more than the half of the time, which is what each server has at first.
    const waiting = red(far).acquire({ waitTime: 8_000 });
    await sleep(4_500);
    await Promise.all(proxies.map((proxy) => proxy.pass()));
    await (await waiting).unlock();
  });

  it('C11: where two have no memory, it uses its whole time, and gets in when one has some', async function () {
    this.timeout(25_000);
    const full = (which: number, isFull: boolean) =>
      connection(servers[which]!.url).config('SET', 'maxmemory', isFull ? '1' : '0');
    await full(0, true);
    await (await within(NO_TIME_OUT_MS, 'one of three is spared', red().acquire())).unlock();
    await full(2, true);
    const startedAt = monotonicNow();
    const error = (await rejection(red().acquire({ waitTime: 1_000 }))) as LockTimeoutError;
    expect(monotonicNow() - startedAt).to.be.within(999, 1_000 + NO_TIME_OUT_MS);
    expect(error).to.be.instanceOf(LockTimeoutError);
    expect(error.reason).to.equal('refused');
    expect(error.cause).to.be.instanceOf(CommandError).and.include({ reply: 'OOM' });
    expect(await red().tryLock(300, 1_000)).to.equal(false);
    // Who does not wait learns it at once.
    expect(await rejection(red().tryLock()))
      .to.be.instanceOf(CommandError)
      .and.include({ reply: 'OOM' });
    await gone(connection(servers[1]!.url), name);
    for (const waitTime of [8_000, undefined]) {
      await full(2, true);
      const waiting = red().acquire({ waitTime, leaseTime: LONG_LEASE_MS });
      await sleep(700);
      await full(2, false);
      await (await within(NO_TIME_OUT_MS, 'it gets in', waiting)).unlock();
    }
    for (const which of [0, 2]) await full(which, false);
  });

  it('where two have too few replicas, it waits as long as a lock does, and gets in when they have enough', async function () {
    this.timeout(25_000);
    const lacks = (which: number, isLacking: boolean) =>
      connection(servers[which]!.url).config('SET', 'min-replicas-to-write', isLacking ? '1' : '0');
    // A lock of these waits for 1.8 s.
    const quick = servers.map(({ url }) => client(url, { timeout: 800, retryAttempts: 1 }));
    await lacks(0, true);
    await within(
      NO_TIME_OUT_MS,
      'one of three costs nothing',
      Promise.all([1, 2, 3, 4].map(() => red().withLock(() => undefined))),
    );
    await lacks(2, true);
    // Who does not wait learns it at once.
    expect(await rejection(within(NO_TIME_OUT_MS, 'a single attempt', red().tryLock())))
      .to.be.instanceOf(CommandError)
      .and.include({ reply: 'NOREPLICAS' });
    const startedAt = monotonicNow();
    expect(await rejection(within(8_000, 'the refusal', red(quick).acquire())))
      .to.be.instanceOf(CommandError)
      .and.include({ reply: 'NOREPLICAS' });
    expect(monotonicNow() - startedAt).to.be.at.least(1_800);
    const error = (await rejection(red().acquire({ waitTime: 1_000 }))) as LockTimeoutError;
    expect([error.reason, (error.cause as CommandError).reply]).to.deep.equal(['refused', 'NOREPLICAS']);
    const waiting = red().acquire({ leaseTime: LONG_LEASE_MS });
    await sleep(700);
    await lacks(2, false);
    const hold = await within(6_000, 'it gets in', waiting);
    await lacks(0, false);
    await hold.unlock();
    await gone(connection(servers[1]!.url), name);
  });

  for (const which of [0, 1, 2]) {
    it(`number ${which} of three costs its time-out once, not at each acquisition, and is used again when it is back`, async function () {
      this.timeout(25_000);
      servers[which]!.pause();
      const first = await within(1_500 + NO_TIME_OUT_MS, 'the first one', red().acquire());
      await within(1_500 + NO_TIME_OUT_MS, 'its unlock', first.unlock());
      const startedAt = monotonicNow();
      for (let i = 0; i < 5; i++) {
        const hold = await red().acquire({ leaseTime: LONG_LEASE_MS, waitTime: 5_000 });
        await hold.unlock();
      }
      for (let i = 0; i < 5; i++) {
        const lock = red();
        expect(await lock.tryLock(5_000, LONG_LEASE_MS, undefined, 7)).to.equal(true);
        expect(await lock.isHeldByThread(7)).to.equal(true);
        await lock.unlock(7);
      }
      // A time-out at each would cost 15 s.
      expect(monotonicNow() - startedAt).to.be.below(NO_TIME_OUT_MS);

      servers[which]!.resume();
      const direct = connection(servers[which]!.url);
      // What it was asked while it hung is undone.
      await gone(direct, name);
      await sleepUntil(
        async () => {
          const hold = await red().acquire();
          const there = await direct.exists(name);
          await hold.unlock();
          return there === 1;
        },
        { timeout: 8_000, interval: 50, message: 'it is asked again' },
      );
      await gone(direct, name);
    });
  }

  it('fails within its limit while two of three hang, and leaves nothing on any', async function () {
    this.timeout(25_000);
    servers[0]!.pause();
    servers[2]!.pause();
    for (let i = 0; i < 2; i++) {
      const startedAt = monotonicNow();
      expect(await red().tryLock(800, LONG_LEASE_MS)).to.equal(false);
      expect(monotonicNow() - startedAt).to.be.within(799, 800 + NO_TIME_OUT_MS);
    }
    const error = await rejection(red().acquire({ waitTime: 300 }));
    expect(error).to.be.instanceOf(LockTimeoutError);
    await within(1_500 + NO_TIME_OUT_MS, 'a single attempt', red().tryLock());
    const stop = new AbortController();
    const aborted = rejection(red().lock(-1, undefined, { signal: stop.signal }));
    await sleep(100);
    stop.abort(new Error('stop'));
    expect((await within(NO_TIME_OUT_MS, 'the abort', aborted)).message).to.equal('stop');
    await gone(connection(servers[1]!.url), name);
    servers[0]!.resume();
    servers[2]!.resume();
    for (const { url } of servers) await gone(connection(url), name);
    // It works again, on all of them.
    const hold = await within(8_000, 'the lock', red().acquire());
    await hold.unlock();
  });

  it('has its members asked together: three slow answers take as long as one', async () => {
    for (const server of servers) server.pause();
    const taking = red().acquire();
    for (const server of servers) {
      await sleep(250);
      server.resume();
    }
    const hold = await within(NO_TIME_OUT_MS, 'the lock', taking);
    for (const { url } of servers) expect(await connection(url).exists(name)).to.equal(1);
    await hold.unlock();
  });

  it('is extended when most of its servers have the new lease, although one hangs', async () => {
    const hold = await red().acquire({ leaseTime: 10_000 });
    servers[0]!.pause();
    // Of a lease this long a tenth would be longer than what is waited for.
    await within(1_500 + NO_TIME_OUT_MS, 'extended by two of three', hold.extend(4 * LONG_LEASE_MS));
    expect(hold.isHeld).to.equal(true);
    expect(await connection(servers[1]!.url).pttl(name)).to.be.greaterThan(10_000);
    servers[0]!.resume();
    await hold.unlock();
  });

  it('extend() to a short lease does not lose the lock while it waits for the one that hangs', async () => {
    const hold = await red().acquire({ leaseTime: 5_000 });
    servers[0]!.pause();
    await hold.extend(1_200);
    expect(hold.isHeld).to.equal(true);
    await hold.extend(LONG_LEASE_MS);
    servers[0]!.resume();
    await hold.unlock();
  });

  it('tryLock ends in time, too, where one of the three is a multi-lock over a server that hangs', async function () {
    this.timeout(25_000);
    const [first, second, third] = mine as [Redisson, Redisson, Redisson];
    const of = (which: Redisson, other: string): RLock =>
      which.getMultiLock(which.getLock(`${name}:${other}`), second.getLock(`${name}:${other}:too`));
    const one = first.getRedLock(of(first, 'a'), second.getLock(name), third.getLock(name));
    const two = first.getRedLock(of(first, 'a'), of(first, 'b'), third.getLock(name));
    servers[0]!.pause();
    for (const waitTime of [3_000, 0]) {
      const inTime = waitTime > 0 ? waitTime : 1_500;
      expect(await within(inTime + NO_TIME_OUT_MS, 'by two of three', one.tryLock(waitTime, LONG_LEASE_MS))).to.equal(
        true,
      );
      await one.unlock();
      const attempt = within(
        2 * inTime + NO_TIME_OUT_MS,
        'one of three is not enough',
        two.tryLock(waitTime, LONG_LEASE_MS),
      );
      expect(await attempt).to.equal(false);
    }
    servers[0]!.resume();
    for (const { url } of servers.slice(1)) await gone(connection(url), name);
  });

  for (const waitTime of [3_000, 0]) {
    it(`C11: a time-out before the lease is set does not say that others hold it (waitTime ${waitTime})`, async function () {
      this.timeout(15_000);
      const lock = mine[0]!.getMultiLock(...thirdHangsWhenTaken());
      const error = (await rejection(lock.acquire({ waitTime, leaseTime: LONG_LEASE_MS }))) as LockTimeoutError;
      servers[2]!.resume();
      expect([error.reason, error.cause instanceof CommandTimeoutError]).to.deep.equal(['unanswered', true]);
      for (const { url } of servers) await gone(connection(url), name);
    });
  }

  it('is there within its limit when one hangs between being taken and its lease being set', async function () {
    this.timeout(15_000);
    const lock = mine[0]!.getRedLock(...thirdHangsWhenTaken());
    const startedAt = monotonicNow();
    expect(await lock.tryLock(6_000, LONG_LEASE_MS, undefined, 7)).to.equal(true);
    expect(monotonicNow() - startedAt).to.be.below(6_000);
    expect(await lock.isHeldByThread(7)).to.equal(true);
    await lock.unlock(7);
    servers[2]!.resume();
    for (const { url } of servers) await gone(connection(url), name);
  });

  it('ends a single attempt soon where a needed one hangs between being taken and its lease being set', async function () {
    this.timeout(15_000);
    const lock = mine[0]!.getMultiLock(...thirdHangsWhenTaken());
    // The leases, and giving back, cost 1.5 s each.
    expect(await within(3_000 + NO_TIME_OUT_MS, 'one attempt', lock.tryLock(0, LONG_LEASE_MS))).to.equal(false);
    servers[2]!.resume();
    for (const { url } of servers) await gone(connection(url), name);
  });

  it('excludes, and does not livelock, with one of three hung and everybody at it', async function () {
    this.timeout(40_000);
    servers[1]!.pause();
    const inside = new Inside();
    const theirs = servers.map(({ url }) => client(url, { timeout: TIMEOUT_MS }));
    // Four that want two of two servers take from two to eight seconds. A lock that is left behind takes longer than
    // this.
    await within(
      25_000,
      'all are through',
      Promise.all(
        [mine, theirs, mine, theirs].map(async (clients) => {
          for (let i = 0; i < 4; i++) await red(clients).withLock(() => inside.run(2), { leaseTime: LONG_LEASE_MS });
        }),
      ),
    );
    expect(inside.runs).to.equal(16);
    expect(inside.most).to.equal(1);
    servers[1]!.resume();
    for (const { url } of servers) await gone(connection(url), name);
  });

  it('is re-entered, and excludes branches beside one another, in scopes', async () => {
    const inside = new Inside();
    await within(
      5_000,
      'all branches',
      red().withLock(() => Promise.all([1, 2, 3].map(() => red().withLock(() => red().withLock(() => inside.run(2)))))),
    );
    expect(inside.runs).to.equal(3);
    expect(inside.most).to.equal(1);
    for (const { url } of servers) expect(await connection(url).exists(name)).to.equal(0);
  });

  it('leaves nothing when it is aborted while it waits for a majority', async () => {
    const theirs = client(servers[0]!.url).getLock(name);
    const others = client(servers[1]!.url).getLock(name);
    await Promise.all([theirs.lock(), others.lock()]);
    for (const ms of [0, 5, 60, 200]) {
      const stop = new AbortController();
      const aborted = rejection(red().acquire({ signal: stop.signal }));
      await sleep(ms);
      stop.abort(new Error('stop'));
      expect((await within(NO_TIME_OUT_MS, 'the abort', aborted)).message).to.equal('stop');
      await gone(connection(servers[2]!.url), name);
    }
    await Promise.all([theirs.unlock(), others.unlock()]);
    for (const { url } of servers) await gone(connection(url), name);
  });

  it('counts no lock twice: the same one given again, or by another client, is refused', () => {
    const [a, b] = mine;
    const again = client(servers[0]!.url);
    expect(() => a!.getRedLock(a!.getLock(name), a!.getLock(name), b!.getLock(name))).to.throw(ConfigError, name);
    expect(() => a!.getRedLock(a!.getLock(name), again.getLock(name), b!.getLock(name))).to.throw(ConfigError, name);
  });
});

describe('a multi-lock that is given one lock twice', () => {
  let server: RedisServer;

  before(async () => {
    server = await RedisServer.start();
  });

  after(() => server.stop());

  it('takes it once', async () => {
    const name = uniqueName('twice');
    const one = client(server.url);
    for (const of of [() => one.getLock(name), () => one.getNonReentrantLock(name)]) {
      const hold = await within(NO_TIME_OUT_MS, 'the lock', one.getMultiLock(of(), of()).acquire());
      await hold.unlock();
      expect(await connection(server.url).exists(name)).to.equal(0);
    }
  });

  it('refuses it by two clients, of which one would wait for the other for ever', () => {
    const name = uniqueName('twice');
    const [one, other] = [client(server.url), client(server.url)];
    expect(() => one.getMultiLock(one.getLock(name), other.getLock(name))).to.throw(ConfigError, name);
  });

  it('takes both halves of a read/write lock', async () => {
    const one = client(server.url);
    const { readLock, writeLock } = {
      readLock: one.getReadWriteLock('half').readLock(),
      writeLock: one.getReadWriteLock('half').writeLock(),
    };
    expect(one.getMultiLock(writeLock, readLock).name).to.equal('half, half');
  });
});
