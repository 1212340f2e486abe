import { expect } from 'chai';
import type { Redis } from 'ioredis';
import {
  CommandError,
  ConfigError,
  IllegalMonitorStateError,
  LockLostError,
  type Redisson,
  UnsupportedOperationError,
} from '../../../lib';
import { parseTicket, ticketText } from '../../../lib/util/ticket';
import { monitor, redisUrl, RedisServer, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

const EVAL = { command: /\beval(sha)?\b/i };
/** A connection that was silent while the process stood still may be given up before its command is. */
const UNANSWERED = ['COMMAND_TIMEOUT', 'CONNECTION'];

describe('holds by ticket', () => {
  let proxy: TcpProxy;
  let far: Redisson;
  let near: Redisson;
  let redis: Redis;
  let name: string;

  beforeEach(async () => {
    proxy = trackClient(await TcpProxy.start(redisUrl()));
    far = newClient({ url: proxy.url, timeout: 500, retryAttempts: 1 });
    near = newClient();
    redis = bareClient();
    name = uniqueName('ticket');
    // Their scripts are loaded: the next command of each is the script itself.
    await (await far.attach(await (await far.getLock(`${name}:warm`).acquire()).detach())).unlock();
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  it('is one command to leave, and one to come back', async () => {
    const hold = await near.getLock(name).acquire();
    await (await near.attach(await (await near.getLock(`${name}:warm`).acquire()).detach())).unlock();
    const watch = await monitor(redisUrl());
    const ticket = await hold.detach();
    const taken = await near.attach(ticket);
    const sent = (await watch.sent()).filter(({ args }) => args.includes(name));
    watch.stop();
    expect(sent).to.have.lengthOf(2);
    await taken.unlock();
  });

  it('whose detach() lost its reply is sent again', async () => {
    const hold = await far.getLock(name).acquire();
    const lost = proxy.swallowNextReply({ ...EVAL, then: 'cut' });
    const ticket = await hold.detach();
    await lost;
    expect(hold.signal.aborted).to.equal(false);
    expect(await redis.hlen(name)).to.equal(1);
    await (await near.attach(ticket)).unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('whose detach() got no reply at all is of nobody: the lock is released', async () => {
    const hold = await far.getLock(name).acquire();
    proxy.blackhole('down');
    expect(await rejection(hold.detach()))
      .to.include({ mayHaveRun: true })
      .and.has.property('code')
      .oneOf(UNANSWERED);
    expect(hold.isHeld).to.equal(false);
    expect(hold.signal.aborted).to.equal(false);
    await proxy.pass();
    proxy.cut();
    await sleepUntil(async () => (await redis.exists(name)) === 0, { timeout: 15_000 });
    await hold.unlock();
  });

  it('whose detach() was refused stays as it is', async () => {
    const server = trackClient(await RedisServer.start());
    const client = newClient({ url: server.url, timeout: 500, retryAttempts: 1, lockWatchdogTimeout: 5_000 });
    const bare = bareClient(server.url);
    const lock = client.getLock(name);
    const hold = await lock.acquire();
    await bare.config('SET', 'min-replicas-to-write', '1');
    expect(await rejection(hold.detach())).to.be.instanceOf(CommandError);
    await bare.config('SET', 'min-replicas-to-write', '0');
    expect(hold.isHeld).to.equal(true);
    await hold.extend(20_000);
    expect(await lock.isHeldByThread(hold.threadId)).to.equal(true);
    expect(await bare.pttl(name)).to.be.within(15_000, 20_000);
    await hold.unlock();
    expect(await bare.exists(name)).to.equal(0);
  });

  it('whose detach() was refused after its shorter lease was set keeps the one that it had', async () => {
    const lock = near.getLock(name);
    for (const leaseTime of [-1, 20_000]) {
      const hold = await lock.acquire({ threadId: 7, leaseTime });
      const detaching = rejection(hold.detach({ leaseTime: 500 }));
      // Under way when the owner is about to change.
      expect(await lock.tryLock(0, 10_000, undefined, { threadId: 7 })).to.equal(true);
      expect(await detaching).to.be.instanceOf(IllegalMonitorStateError);
      await lock.unlock({ threadId: 7 });
      await sleep(700);
      expect(hold.isHeld).to.equal(true);
      expect(await redis.pttl(name)).to.be.within(15_000, leaseTime === -1 ? 30_000 : 20_000);
      await hold.unlock();
      expect(await redis.exists(name)).to.equal(0);
    }
  });

  it('whose detach() was refused while its shorter lease was set is renewed as before', async () => {
    const server = trackClient(await RedisServer.start());
    const way = trackClient(await TcpProxy.start(server.url));
    const client = newClient({ url: way.url, timeout: 500, retryAttempts: 1 });
    const bare = bareClient(server.url);
    const hold = await client.getLock(name).acquire();
    await (await client.getLock(`${name}:warm`).acquire()).extend(1_000);
    // The shorter lease is set; all that follows is refused, until the client has given up.
    const lost = way.swallowNextReply({ ...EVAL, then: 'cut' });
    const detaching = rejection(hold.detach({ leaseTime: 6_000 }));
    await lost;
    await bare.config('SET', 'min-replicas-to-write', '1');
    expect(await detaching).to.include({ code: 'CONNECTION', mayHaveRun: true });
    await bare.config('SET', 'min-replicas-to-write', '0');
    await sleepUntil(async () => (await bare.pttl(name)) > 20_000);
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
    expect(await bare.exists(name)).to.equal(0);
  });

  it('whose attach() could not set its shorter lease goes back: the ticket stays valid', async () => {
    const ticket = await (await near.getLock(name).acquire()).detach({ leaseTime: 120_000 });
    proxy.delay(60_000, 'down');
    const attaching = rejection(far.attach(ticket, { leaseTime: 60_000 }));
    await sleepUntil(async () => (await redis.hkeys(name))[0]?.startsWith(far.getId()) === true);
    // The ticket is used; the lease is not to be set.
    proxy.blackhole('up');
    proxy.deliver();
    expect(await attaching)
      .to.have.property('code')
      .oneOf(UNANSWERED);
    expect(await redis.exists(name)).to.equal(1);
    await proxy.pass();
    proxy.cut();
    const owner = async (): Promise<string> => (await redis.hkeys(name))[0] ?? 'nobody';
    await sleepUntil(async () => !(await owner()).startsWith(far.getId()), { timeout: 15_000 });
    const taken = await near.attach(ticket);
    await sleep(1_000);
    expect(taken.isHeld).to.equal(true);
    expect(await owner()).to.equal(`${near.getId()}:${taken.threadId}`);
    await taken.unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('whose attach() lost its reply is sent again, and is taken up once', async () => {
    const ticket = await (await near.getLock(name).acquire()).detach();
    const lost = proxy.swallowNextReply({ ...EVAL, then: 'cut' });
    const taken = await far.attach(ticket);
    await lost;
    expect(await redis.hkeys(name)).to.deep.equal([`${far.getId()}:${taken.threadId}`]);
    expect(await rejection(near.attach(ticket))).to.be.instanceOf(LockLostError);
    await taken.unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('whose attach() got no reply at all stays valid: what it may have changed is undone', async () => {
    for (const kind of ['plain', 'fenced'] as const) {
      const lock = kind === 'plain' ? near.getLock(name) : near.getFencedLock(`${name}:fenced`);
      const ticket = await (await lock.acquire()).detach();
      proxy.blackhole('down');
      expect(await rejection(far.attach(ticket)))
        .to.include({ mayHaveRun: true })
        .and.has.property('code')
        .oneOf(UNANSWERED);
      expect(await redis.hlen(lock.name)).to.equal(1);
      await proxy.pass();
      proxy.cut();
      const owner = async (): Promise<string> => (await redis.hkeys(lock.name))[0] ?? 'nobody';
      await sleepUntil(async () => !(await owner()).startsWith(far.getId()), { timeout: 15_000 });
      const taken = await near.attach(ticket);
      expect(await owner()).to.equal(`${near.getId()}:${taken.threadId}`);
      // The undo of the failed one looks again, and finds nothing that is its own.
      await sleep(1_000);
      expect(taken.isHeld).to.equal(true);
      await taken.unlock();
      expect(await redis.exists(lock.name)).to.equal(0);
    }
  });

  for (const then of ['cut', 'hang'] as const) {
    it(`whose attach() lost its reply (${then}) is taken up by the next call of that client, and by no other`, async () => {
      for (const kind of ['plain', 'fenced'] as const) {
        const lock = kind === 'plain' ? near.getLock(name) : near.getFencedLock(`${name}:fenced`);
        const ticket = await (await lock.acquire()).detach();
        const once = newClient({ url: proxy.url, timeout: 500, retryAttempts: 0 });
        await once.ping();
        const lost = proxy.swallowNextReply({ ...EVAL, then });
        expect(await rejection(once.attach(ticket))).to.include({ mayHaveRun: true });
        await lost;
        if (then === 'hang') proxy.cut();
        await sleepUntil(() =>
          once.ping().then(
            () => true,
            () => false,
          ),
        );
        const hold = await once.attach(ticket);
        expect(hold.isHeld).to.equal(true);
        // The undo of the failed call finds a holder, in its next tries as well.
        await sleep(700);
        expect(await redis.hkeys(lock.name)).to.deep.equal([`${once.getId()}:${hold.threadId}`]);
        if (kind === 'fenced') {
          expect(String(hold.token)).to.equal(await redis.get(`redisson_lock_token:{${lock.name}}`));
        }
        expect(await rejection(near.attach(ticket))).to.be.instanceOf(LockLostError);
        await hold.extend(10_000);
        await hold.unlock();
        expect(await redis.exists(lock.name)).to.equal(0);
      }
    });
  }

  it('is for one database, one server, one kind and one lock', async () => {
    const hold = await near.getLock(name).acquire();
    const ticket = await hold.detach();
    const url = new URL(redisUrl());
    url.pathname = '/3';
    const elsewhere = newClient({ url: url.href });
    const error = await rejection(elsewhere.attach(ticket));
    expect(error).to.be.instanceOf(ConfigError);
    expect(error.message).to.match(/is of database 0, and this client uses 3/);
    const server = trackClient(await RedisServer.start());
    const other = await rejection(newClient({ url: server.url }).attach(ticket));
    expect(other).to.be.instanceOf(LockLostError);
    expect(other.message).to.match(/of another server/);
    const parsed = parseTicket(ticket)!;
    // Forged by somebody who knows the format, and who has seen the owners in Redis.
    for (const forged of [
      { ...parsed, kind: 'fair' },
      { ...parsed, name: `${name}:other` },
      { ...parsed, secret: (await redis.hkeys(name))[0]! },
    ]) {
      expect(await rejection(near.attach(ticketText(forged)))).to.be.instanceOf(LockLostError);
    }
    for (const forged of [
      { ...parsed, kind: 'read' },
      { ...parsed, kind: 'multi' },
      { ...parsed, kind: 'none' },
    ]) {
      expect(await rejection(near.attach(ticketText(forged)))).to.be.instanceOf(ConfigError);
    }
    expect(await redis.hlen(name)).to.equal(1);
    await (await near.attach(ticket)).unlock();
    // A key of another type is Redis' own error, and is not touched.
    const late = await (await near.getLock(name).acquire()).detach();
    await redis.set(name, 'text');
    expect(await rejection(near.attach(late))).to.be.instanceOf(CommandError);
    expect(await redis.get(name)).to.equal('text');
  });

  it('cannot take a live hold: an owner of a ticket is none that a client has', async () => {
    const hold = await near.getLock(name).acquire();
    const [owner = ''] = await redis.hkeys(name);
    const ticket = await (await near.getLock(`${name}:2`).acquire()).detach();
    const forged = ticketText({ ...parseTicket(ticket)!, name, secret: owner });
    expect(await rejection(far.attach(forged))).to.be.instanceOf(LockLostError);
    expect(await redis.hkeys(name)).to.deep.equal([owner]);
    expect((await redis.hkeys(`${name}:2`))[0]).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-.*:0$/);
    await hold.unlock();
  });

  it('survives the client that made it, until its lease ends; a waiter then gets the lock', async () => {
    const dead = newClient();
    const ticket = await (await dead.getLock(name).acquire()).detach({ leaseTime: 1_500 });
    await dead.shutdown();
    const waiting = near.getLock(name).acquire({ waitTime: 10_000 });
    expect((await redis.pttl(name)) > 500).to.equal(true);
    const hold = await waiting;
    expect(await rejection(far.attach(ticket))).to.be.instanceOf(LockLostError);
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
  });

  it('waiters are told of a lease that is shorter than the one they saw, at both ends', async () => {
    const hold = await near.getLock(name).acquire({ leaseTime: 60_000 });
    const waiting = far.getLock(name).acquire({ waitTime: 20_000 });
    await sleepUntil(
      async () => ((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`)) as number[])[1] === 1,
    );
    await sleep(50);
    const startedAt = performance.now();
    const ticket = await hold.detach({ leaseTime: 10_000 });
    await near.attach(ticket, { leaseTime: 500 });
    const next = await waiting;
    expect(performance.now() - startedAt).to.be.below(8_000);
    await next.unlock();
  });

  it('a writer that reads, too, does not leave; a reader and a multi-lock cannot', async () => {
    const pair = near.getReadWriteLock(name);
    const write = await pair.writeLock().acquire({ threadId: 3 });
    const read = await pair.readLock().acquire({ threadId: 3 });
    expect(await rejection(write.detach())).to.be.instanceOf(IllegalMonitorStateError);
    expect(await rejection(read.detach())).to.be.instanceOf(UnsupportedOperationError);
    await read.unlock();
    const ticket = await write.detach();
    expect(await redis.hget(name, 'mode')).to.equal('write');
    expect(await far.getReadWriteLock(name).readLock().tryLock()).to.equal(false);
    const taken = await far.attach(ticket);
    expect(await far.getReadWriteLock(name).readLock().tryLock({ threadId: taken.threadId })).to.equal(true);
    await far.getReadWriteLock(name).readLock().unlock({ threadId: taken.threadId });
    await taken.unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('unlock() while detach() is under way does nothing', async () => {
    const hold = await near.getLock(name).acquire();
    const detaching = hold.detach();
    await hold.unlock();
    await (await far.attach(await detaching)).unlock();
    expect(await redis.exists(name)).to.equal(0);
  });
});
