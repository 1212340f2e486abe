import { expect } from 'chai';
import { Redis } from 'ioredis';
import { hostname } from 'node:os';
import * as sinon from 'sinon';
import { ConfigError, Redisson, ShutdownError } from '../../../lib';
import { type ChangesEvent, Inspector, type ObjectReport, type WatchEvent } from '../../../lib/operators/inspection';
import { RedisView } from '../../../lib/operators/inspection/RedisView';
import { RedisServer, sleepUntil, TcpProxy, trackClient } from '../../support';
import { rulesOf } from '../../support/securityPage';

const GONE = 'cccccccc-bbbb-4ccc-8ddd-eeeeeeeeeeee';
/** A thread id that only this package gives. */
const THREAD = 2 ** 32 + 7;

describe('the Inspector', function () {
  this.timeout(30_000);

  let server: RedisServer;
  let redis: Redis;
  let client: Redisson;
  let inspector: Inspector;

  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server.stop());

  beforeEach(async () => {
    redis = trackClient(new Redis(server.url));
    await redis.flushall();
    client = trackClient(Redisson.create(server.url));
    inspector = opened(new Inspector(client));
  });

  afterEach(() => sinon.restore());

  function opened(one: Inspector): Inspector {
    return trackClient({ stop: () => one.close(), one }).one;
  }

  async function connectedAs(name: string): Promise<void> {
    await trackClient(new Redis(server.url)).client('SETNAME', name);
  }

  /** A lock in Redis, as another client leaves it. */
  async function heldBy(name: string, owner: string, ttl = 30_000): Promise<void> {
    await redis.hset(name, owner, 1);
    if (ttl > 0) await redis.pexpire(name, ttl);
  }

  it("a detached hold is nobody's, and its holder is not gone", async () => {
    await (await client.getLock('a').acquire()).detach({ leaseTime: 60_000 });
    const { holders, verdict } = await inspector.inspect('a');
    expect(holders[0]!.process.unknownBecause).to.equal('detached');
    expect(verdict.kind).to.equal('held');
    expect(verdict.sentence).to.match(/^Held, and no process has it: .*, unless its ticket is attached\.$/);
  });

  it('D4: a living holder whose user may not name its connections is never called gone', async () => {
    const rights = ['on', '>pw', '~*', '&*', '+@all', '-client|setname'];
    await redis.call('ACL', 'SETUSER', 'nameless', ...rights);
    const holder = trackClient(Redisson.create(server.url.replace('redis://', 'redis://nameless:pw@')));
    await holder.getLock('a').lock();
    const { holders, verdict } = await inspector.inspect('a');
    expect(holders[0]!.process).to.deep.equal({ connected: 'unknown', java: false, unknownBecause: 'unnamed' });
    expect(verdict.kind).to.equal('held');
  });

  it('D14: owners of redisson-rs are shown, and may be alive', async () => {
    const owner = `${GONE}:ThreadId(7)`;
    await heldBy('rust', owner);
    await heldBy('none', `${GONE}:ThreadId(x)`);
    await heldBy('half', `${GONE}:7)`);
    const { holders, verdict } = await inspector.inspect('rust');
    expect(holders.map((one) => [one.owner, one.clientId, one.threadId])).to.deep.equal([[owner, GONE, '7']]);
    expect(verdict.kind).to.equal('held');
    expect((await inspector.list()).map(({ name }) => name)).to.deep.equal(['rust']);
    for (const name of ['none', 'half']) expect((await inspector.inspect(name)).verdict.kind).to.equal('wrong-type');
  });

  it('a group of values: each owner with how many values it has, not those whose time is over; it is released whole', async () => {
    const other = trackClient(Redisson.create(server.url));
    const mine = client.getMultiLock('g', ['a', 'b']);
    await mine.lock();
    await other.getMultiLock('g', ['c']).lock();
    await redis.hset('g', 'AAAAAAAAAAAAAAAAAAAAAA', `${GONE}:1`);
    await redis.hset('g', `AAAAAAAAAAAAAAAAAAAAAA:${GONE}:1:expire_time`, Date.now() - 1);
    const report = await inspector.inspect('g');
    expect(report.kind).to.equal('group');
    const seen = report.holders.map(({ clientId, values, holdCount }) => ({ clientId, values, holdCount }));
    expect(seen).to.have.deep.members([
      { clientId: client.getId(), values: 2, holdCount: 1 },
      { clientId: other.getId(), values: 1, holdCount: 1 },
    ]);
    expect(report.verdict.kind).to.equal('held');
    expect((await inspector.list()).map(({ kind }) => kind)).to.deep.equal(['group']);
    const waiting = trackClient(Redisson.create(server.url)).getMultiLock('g', ['a', 'c']).acquire();
    await sleepUntil(async () => (await inspector.inspect('g')).waiters > 0);
    await client.getLock('g').forceUnlock();
    const hold = await waiting;
    await hold.unlock();
  });

  describe('an owner', () => {
    it('is traced to its process: host, process id, address, for how long', async () => {
      await client.getLock('a').lock();
      const { holders, verdict } = await inspector.inspect('a');
      const [holder] = holders;
      expect(holder).to.include({ clientId: client.getId(), client: 'node', holdCount: 1 });
      expect(holder!.process).to.include({ connected: true, java: false, host: hostname(), pid: process.pid });
      expect(holder!.process.address).to.match(/^127\.0\.0\.1:\d+$/);
      expect(holder!.process.connectedForMs).to.be.within(0, 30_000);
      expect(verdict).to.include({ kind: 'held' });
    });

    it('of a client that has left is not connected: the verdict says so, and when it ends', async () => {
      await heldBy('a', `${GONE}:${THREAD}`);
      const { holders, verdict } = await inspector.inspect('a');
      expect(holders[0]!.process).to.deep.equal({ connected: false, java: false });
      expect(verdict.kind).to.equal('holder-gone');
      expect(verdict.endsAt).to.be.within(Date.now() + 1_000, Date.now() + 30_000);
      expect(verdict.sentence).to.match(/not connected .* ends in /);
    });

    it('that was seen before is told with its process, also when others have names of their own', async () => {
      const other = Redisson.create(server.url);
      await other.getLock('a').lock(60_000);
      expect((await inspector.inspect('a')).holders[0]!.process.connected).to.equal(true);
      await other.shutdown();
      await connectedAs('orders-service');
      await sleepUntil(async () => (await inspector.inspect('a')).verdict.kind === 'holder-gone');
      const { process: seen } = (await inspector.inspect('a')).holders[0]!;
      expect(seen).to.include({ connected: false, host: hostname(), pid: process.pid });
    });

    it('may be a connection with a name of the user: unknown', async () => {
      await connectedAs('orders-service');
      await heldBy('a', `${GONE}:${THREAD}`);
      const { holders, verdict } = await inspector.inspect('a');
      expect(holders[0]!.process).to.deep.equal({ connected: 'unknown', java: false, unknownBecause: 'other-names' });
      expect(verdict.kind).to.equal('held');
      expect(verdict.sentence).to.contain('clientName');
    });

    it('whose thread id is like one of Java is told apart', async () => {
      await heldBy('a', `${GONE}:42`);
      const { holders, verdict } = await inspector.inspect('a');
      expect(holders[0]!.process).to.deep.equal({ connected: 'unknown', java: true, unknownBecause: 'java' });
      expect(verdict.kind).to.equal('held');
      // A thread id that a caller gave does not make a client of ours one of Java.
      await client.getLock('b').lock(-1, undefined, 42);
      expect((await inspector.inspect('b')).holders[0]!.process).to.include({ connected: true, java: false });
    });

    it('of Java is gone when every connection is known to be another: Java names none of its own', async () => {
      await heldBy('a', `${GONE}:42`);
      // A name of this package that is no client's.
      await redis.client('SETNAME', 'ioredisson:test');
      await sleepUntil(async () => (await inspector.inspect('a')).verdict.kind === 'holder-gone');
      const { holders, verdict } = await inspector.inspect('a');
      expect(holders[0]).to.include({ client: 'unknown' });
      expect(holders[0]!.process).to.deep.equal({ connected: false, java: true });
      expect(verdict.endsAt).to.be.within(Date.now() + 1_000, Date.now() + 30_000);
      // Any other connection may be Java's, with a name or without.
      await connectedAs('orders-service');
      await sleepUntil(async () => (await inspector.inspect('a')).verdict.kind === 'held');
      expect((await inspector.inspect('a')).holders[0]!.process.unknownBecause).to.equal('java');
    });

    it('that two processes claim to be is nobody for sure; names that are none of ours are no owners', async () => {
      await heldBy('a', `${GONE}:${THREAD}`);
      await connectedAs(`ioredisson:${GONE}:one:1`);
      expect((await inspector.inspect('a')).holders[0]!.process).to.include({ connected: true, host: 'one', pid: 1 });
      await connectedAs(`ioredisson:${GONE}:two:2`);
      await sleepUntil(async () => (await inspector.inspect('a')).holders[0]!.process.unknownBecause === 'ambiguous');
      const other = 'dddddddd-bbbb-4ccc-8ddd-eeeeeeeeeeee';
      await heldBy('b', `${other}:${THREAD}`);
      for (const name of [`ioredisson:${other}`, `ioredisson:${other}:h:x`, `x:ioredisson:${other}:h:1`])
        await connectedAs(name);
      expect((await inspector.inspect('b')).holders[0]!.process.connected).to.equal('unknown');
    });

    it('is unknown where CLIENT LIST is denied, which is not asked for each time', async () => {
      const rules = [...rulesOf('connection'), ...rulesOf('inspection')].filter((rule) => rule !== '+client|list');
      await redis.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
      await redis.call('acl', 'log', 'reset');
      await heldBy('app:a', `${GONE}:${THREAD}`);
      const restricted = opened(Inspector.open(`redis://service:secret@127.0.0.1:${server.port}`));
      for (let i = 0; i < 5; i++) {
        const { holders, verdict } = await restricted.inspect('app:a');
        expect(holders[0]!.process).to.deep.equal({ connected: 'unknown', java: false, unknownBecause: 'denied' });
        expect(verdict.sentence).to.contain('CLIENT LIST is denied');
      }
      const log = (await redis.call('acl', 'log')) as (string | number)[][];
      expect(log.filter((entry) => entry.includes('client|list')).map((entry) => entry[1])).to.deep.equal([1]);
    });

    it('that gives back and leaves while we look is not called gone', async () => {
      await heldBy('a', `${GONE}:${THREAD}`);
      // The list is asked for behind the lock: by then it is free.
      const view = (RedisView.prototype as { clientLists: RedisView['clientLists'] }).clientLists;
      const stub = sinon.stub(RedisView.prototype, 'clientLists').callsFake(async function (this: RedisView) {
        await redis.del('a');
        return view.call(this);
      });
      expect((await inspector.inspect('a')).kind).to.equal('none');
      expect(stub.callCount).to.equal(1);
    });
  });

  describe('the verdict', () => {
    const owner = `${GONE}:${THREAD}`;

    beforeEach(() => connectedAs(`ioredisson:${GONE}:host:1`));

    it('no-expiry: a lock that nothing ends', async () => {
      await heldBy('a', owner, -1);
      expect((await inspector.inspect('a')).verdict).to.include({ kind: 'no-expiry' });
    });

    it('D6: a lock with a lease of its own is held, however little is left', async () => {
      for (const [name, ttl] of [
        ['a', 15_000],
        ['b', 2_000],
      ] as const) {
        await heldBy(name, owner, ttl);
        const { kind, sentence, endsAt } = (await inspector.inspect(name)).verdict;
        expect(kind).to.equal('held');
        expect(sentence).to.contain('its holder is connected; it ends in');
        expect(endsAt).to.be.within(Date.now(), Date.now() + ttl);
      }
    });

    it('wrong-type, free', async () => {
      await redis.rpush('a', 'x');
      expect((await inspector.inspect('a')).verdict.kind).to.equal('wrong-type');
      expect((await inspector.inspect('b')).verdict.kind).to.equal('free');
    });

    /** The verdicts that `watch` tells of `a`, one after the other. */
    function verdictsOf(): string[] {
      const kinds: string[] = [];
      const note = (event: WatchEvent): void => {
        if (event.kind !== 'changes') return;
        for (const { name, verdict } of [...event.added, ...event.changed]) if (name === 'a') kinds.push(verdict.kind);
      };
      trackClient({ stop: inspector.watch(note, { interval: 50 }) });
      return kinds;
    }

    it('D6: watch says not-renewed of one that a watchdog was seen to renew, and renews no more', async () => {
      await heldBy('a', owner, 4_000);
      const kinds = verdictsOf();
      await sleepUntil(() => kinds.length === 1);
      // As a watchdog of 6 s does: the end moves by a third of it, however much is left by then.
      await redis.eval("redis.call('pexpire', 'a', redis.call('pttl', 'a') + 2000)", 0);
      await sleepUntil(() => kinds.at(-1) === 'not-renewed');
      // Not earlier: it is on time as long as a third of its timeout has not passed by much.
      expect(await redis.pttl('a')).to.be.within(1, 2_500);
      await redis.pexpire('a', 6_000);
      await sleepUntil(() => kinds.at(-1) === 'held');
    });

    it('D6: watch says held of one that is taken again and again with a lease, of any length', async () => {
      await heldBy('a', owner, 4_000);
      const kinds = verdictsOf();
      for (const lease of [12_000, 4_000, 12_000, 3_500]) {
        const told = kinds.length;
        await redis.pexpire('a', lease);
        await sleepUntil(() => kinds.length > told);
      }
      const gone = (): Promise<boolean> => redis.exists('a').then((there) => there === 0);
      await sleepUntil(gone);
      expect(new Set(kinds)).to.deep.equal(new Set(['held']));
    });

    it('D6: a fleet with a watchdog of 9 s stays held for as long as it is watched with one of 30 s', async () => {
      const fleet = trackClient(Redisson.create({ url: server.url, lockWatchdogTimeout: 9_000 }));
      await Promise.all(['a', 'b', 'c'].map((name) => fleet.getLock(name).lock()));
      const told: ObjectReport[] = [];
      const note = (event: WatchEvent): void => {
        if (event.kind === 'changes') told.push(...event.added, ...event.changed);
      };
      trackClient({ stop: inspector.watch(note, { interval: 50 }) });
      // Each renewal moves the end of the lease, which is told.
      await sleepUntil(() => told.filter(({ name }) => name === 'a').length >= 3, { timeout: 20_000 });
      expect(new Set(told.map(({ verdict }) => verdict.kind))).to.deep.equal(new Set(['held']));
    });
  });

  it('list: all, by name, with verdicts', async () => {
    await client.getLock('b').lock();
    await client.getFairLock('a').lock();
    const reports = await inspector.list();
    expect(reports.map(({ name, verdict }) => [name, verdict.kind])).to.deep.equal([
      ['a', 'held'],
      ['b', 'held'],
    ]);
  });

  it('watch: what there is, then what changes', async () => {
    const lock = client.getLock('a');
    await lock.lock();
    const events: WatchEvent[] = [];
    trackClient({ stop: inspector.watch((event) => events.push(event), { interval: 50 }) });
    const seen = (): ObjectReport[] => events.flatMap((event) => (event.kind === 'changes' ? event.added : []));
    await sleepUntil(() => seen().length === 1);
    await client.getLock('b').lock();
    await sleepUntil(() => seen().length === 2);
    await lock.unlock();
    await sleepUntil(() => events.some((event) => event.kind === 'changes' && event.removed[0]?.name === 'a'));
    expect(seen().map(({ name }) => name)).to.deep.equal(['a', 'b']);
    expect(seen()[0]!.heldSince).to.be.at.most(Date.now());
  });

  it('watch: one poll for all; a listener that comes late is told all; one that throws hurts nobody', async () => {
    const warn = sinon.stub(process, 'emitWarning');
    await client.getLock('a').lock();
    const first: WatchEvent[] = [];
    const late: WatchEvent[] = [];
    trackClient({
      stop: inspector.watch(
        () => {
          throw new Error('mine');
        },
        { interval: 50 },
      ),
    });
    trackClient({ stop: inspector.watch((event) => first.push(event), { interval: 50 }) });
    await sleepUntil(() => first.length > 0);
    await redis.config('RESETSTAT');
    const end = inspector.watch((event) => late.push(event), { interval: 10_000 });
    await sleepUntil(() => late.length > 0);
    expect(late[0]).to.deep.include({ kind: 'changes', complete: true, truncated: false });
    expect((late[0] as ChangesEvent).added.map(({ name }) => name)).to.deep.equal(['a']);
    end();
    expect(warn.args.some(([text]) => String(text).includes('mine'))).to.equal(true);
    // Nothing has changed but the time: nothing is told.
    const told = first.length;
    const scans = async (): Promise<number> =>
      Number(/cmdstat_scan:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    await sleepUntil(async () => (await scans()) >= 3);
    expect(first.length).to.equal(told);
    expect(late.length).to.equal(1);
  });

  it('watch: survives an outage, and says so', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    const through = opened(Inspector.open({ url: proxy.url, timeout: 300, retryAttempts: 0 }));
    const events: WatchEvent[] = [];
    trackClient({ stop: through.watch((event) => events.push(event), { interval: 50 }) });
    await sleepUntil(() => events.length > 0);
    proxy.refuse();
    proxy.cut();
    await sleepUntil(() => events.at(-1)!.kind === 'outage');
    await heldBy('a', `${GONE}:${THREAD}`);
    await proxy.accept();
    await sleepUntil(() => events.at(-1)!.kind === 'changes' && events.length > 2);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds[0]).to.equal('changes');
    expect(kinds.slice(-2)).to.deep.equal(['recovered', 'changes']);
    expect((events.at(-1) as ChangesEvent).added.map(({ name }) => name)).to.deep.equal(['a']);
  });

  it('refuses what is no client, an interval that is none, and everything after close', async () => {
    expect(() => new Inspector({} as Redisson)).to.throw(ConfigError);
    expect(() => inspector.watch(() => undefined, { interval: 1 })).to.throw(RangeError);
    expect(() => inspector.watch(undefined as never, { interval: 50 })).to.throw(TypeError);
    await inspector.close();
    await inspector.close();
    const error: unknown = await inspector.list().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ShutdownError);
    expect(() => inspector.watch(() => undefined, { interval: 50 })).to.throw(ShutdownError);
  });

  it('any name, and keys that look alike: shows the locks, and changes nothing', async () => {
    const owner = `${GONE}:${THREAD}`;
    const long = 'x'.repeat(65_536);
    const names = ['a\nb', '\u001b[2J', '<script>', '"', 'x{y', 'x}y', '{', ' ', 'mode', '\u202e', long];
    for (const name of names) await heldBy(name, owner, -1);
    await redis.hset(Buffer.from([0xff, 0xfe]), owner, 1);
    await redis.hset('bytes', Buffer.from([0xff, 0xfe]), 1);
    await redis.hset('almost', owner, 'many');
    await redis.hset('big', ...Array.from({ length: 4_000 }, (_, i) => [`f${i}`, '1']).flat());
    await redis.set('redisson_lock_queue:{q}', 'text');
    await redis.hset('q', owner, 1);
    await redis.rpush('redisson_lock_queue:{r}', 'nobody', '');
    await redis.set('redisson_lock_token:{s}', 'x'.repeat(100));
    await redis.zadd('{t}:timeout', 1, Buffer.from([0xff]));
    await redis.xadd('stream', '*', 'a', 'b');
    const before = await everything();
    const reports = await inspector.list();
    const found = reports.map(({ name }) => name);
    for (const name of [...names, 'q']) expect(found).to.include(name);
    for (const name of ['bytes', 'almost', 'big', 'stream', 'text']) expect(found).not.to.include(name);
    for (const { holders, verdict } of reports.filter(({ name }) => names.includes(name))) {
      expect(holders.map((one) => one.owner)).to.deep.equal([owner]);
      expect(verdict.kind).to.equal('no-expiry');
    }
    for (const name of names) expect((await inspector.inspect(name)).name).to.equal(name);
    expect(await everything()).to.deep.equal(before);
  });

  it('keys that vanish while it looks are no error', async () => {
    const stop = new AbortController();
    const churn = (async () => {
      for (let i = 0; !stop.signal.aborted; i++) {
        const name = `k${i % 50}`;
        await redis
          .pipeline()
          .del(name)
          .hset(name, `${GONE}:${THREAD}`, 1)
          .del(`k${(i + 25) % 50}`)
          .exec();
      }
    })();
    try {
      for (let i = 0; i < 20; i++) for (const { name } of await inspector.list()) expect(name).to.match(/^k\d+$/);
    } finally {
      stop.abort();
      await churn;
    }
  });

  it('100 000 locks: no command looks at more than a page of keys, and the process is never held up', async function () {
    // Work for seconds, and the machine may be busy.
    this.timeout(120_000);
    const count = 100_000;
    const fill = `for i = 1, ${count} do redis.call('hset', 'order:' .. i, ARGV[1], 1) end`;
    await redis.eval(fill, 0, `${client.getId()}:${THREAD}`);
    await client.ping();
    await redis.config('RESETSTAT');
    const turns = countTurns();
    const reports = await inspector.list();
    const seen = turns.stop();
    expect(reports).to.have.lengthOf(count);
    const stats = await redis.info('commandstats');
    const calls = (command: string): number =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    // Each page is at most 1000 keys, each script at most 100, and others get their turn between any two of them.
    expect(calls('scan')).to.be.at.least(count / 1_000);
    expect(calls('evalsha')).to.be.at.least(count / 100);
    expect(seen).to.be.at.least(count / 100);
    expect(calls('keys') + calls('hgetall') + calls('smembers')).to.equal(0);
    expect(calls('client\\|list')).to.equal(1);
  });

  /** Counts the turns of the event loop: each is one in which others could run. */
  function countTurns(): { stop(): number } {
    let turns = 0;
    let running = true;
    const next = (): void => {
      turns++;
      if (running) setImmediate(next);
    };
    setImmediate(next);
    return {
      stop: () => {
        running = false;
        return turns;
      },
    };
  }

  async function everything(): Promise<unknown> {
    const keys = await redis.keysBuffer('*');
    const dumps = await Promise.all(keys.map((key) => redis.dump(key as never)));
    return keys.map((key, i) => `${key.toString('hex')} ${String(dumps[i])}`).sort();
  }
});
