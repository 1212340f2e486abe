import { expect } from 'chai';
import { RedisServer } from '../../tools/redisServer';
import { JavaRedisson } from './support/JavaRedisson';
import { at } from './support/paths';
import type { Peer } from './support/Peer';
import { Probe } from './support/Probe';
import { RemoteError } from './support/RemoteError';
import { describeWithJava } from './support/suites';
import { whyNoJava } from './support/toolchain';

// What the other suites rely on: that the driver does what it is told, by the real Redisson, on threads that own locks.
describeWithJava('interop: the Java driver alone', () => {
  let server: RedisServer;
  let probe: Probe;
  let java: JavaRedisson;
  let peer: Peer;

  before(async () => {
    server = await RedisServer.start();
    probe = await Probe.open(server.url);
    java = await JavaRedisson.shared();
    peer = await java.peer({ addresses: [server.url] });
  });

  beforeEach(() => probe.redis.flushall());

  after(async () => {
    await peer?.shutdown();
    await probe?.close();
    await server?.stop();
  });

  it('holds a lock under the owner name of the thread it was told to use', async () => {
    const t1 = peer.thread('t1');
    await t1.call(at.lock('x'), 'lock');
    await t1.call(at.lock('x'), 'lock', 5000, 'MILLISECONDS');
    expect(await probe.snapshot()).to.deep.equal({
      x: { type: 'hash', value: { [await t1.owner()]: '2' }, ttl: 5000 },
    });
    expect(await peer.thread('t2').call(at.lock('x'), 'tryLock')).to.equal(false);
    await t1.call(at.lock('x'), 'unlock');
    await t1.call(at.lock('x'), 'unlock');
    expect(await probe.snapshot()).to.deep.equal({});
  });

  it('leaves the keys of the wire trace for every kind of object', async () => {
    const t1 = peer.thread('t1');
    const owner = await t1.owner();
    for (const path of [at.fair('f'), at.read('rw'), at.write('w'), at.spin('sp'), at.nonReentrant('nr')]) {
      await t1.call(path, 'lock');
    }
    await t1.call(at.multi(at.lock('m1'), at.fair('m2')), 'lock');
    expect(await t1.call(at.fenced('fe'), 'lockAndGetToken')).to.equal(1);
    expect(await t1.call(at.semaphore('s'), 'trySetPermits', 3)).to.equal(true);
    expect(await t1.call(at.permits('p'), 'trySetPermits', 2)).to.equal(true);
    expect(await t1.call(at.permits('p'), 'acquire', 30_000, 'MILLISECONDS')).to.match(/^[0-9a-f]{32}$/);
    expect(await t1.call(at.permits('p'), 'acquire')).to.match(/^[0-9a-f]{32}$/);
    expect(await t1.call(at.latch('l'), 'trySetCount', 4)).to.equal(true);
    const held = { type: 'hash', value: { '<t1>': '1' }, ttl: 30_000 };
    expect(await probe.snapshot({ names: [[owner, '<t1>']] })).to.deep.equal({
      f: held,
      fe: held,
      'redisson_lock_token:{fe}': { type: 'string', value: '1', ttl: 'none' },
      l: { type: 'string', value: '4', ttl: 'none' },
      m1: held,
      m2: held,
      nr: held,
      p: { type: 'string', value: '0', ttl: 'none' },
      '{p}:timeout': {
        type: 'zset',
        value: ['["<16 bytes>","never"]', '["<16 bytes>",30000]'],
        ttl: 'none',
      },
      rw: { type: 'hash', value: { mode: 'read', '<t1>': '1' }, ttl: 30_000 },
      '{rw}:<t1>:rwlock_timeout:1': { type: 'string', value: '1', ttl: 30_000 },
      s: { type: 'string', value: '3', ttl: 'none' },
      sp: held,
      w: { type: 'hash', value: { mode: 'write', '<t1>:write': '1' }, ttl: 30_000 },
    });
  });

  it('lets one thread wait for another and publishes what Redisson publishes', async () => {
    const [t1, t2] = [peer.thread('t1'), peer.thread('t2')];
    await t1.call(at.lock('x'), 'lock');
    const recording = await probe.record();
    const waiting = t2.timed(at.lock('x'), 'lock');
    await probe.untilSubscribed('redisson_lock__channel:{x}');
    const unlocked = await t1.timed(at.lock('x'), 'unlock');
    const locked = await waiting;
    expect(locked.startedAt).to.be.below(unlocked.startedAt);
    expect(locked.endedAt).to.be.above(unlocked.startedAt);
    expect(await recording.messages()).to.deep.equal(['redisson_lock__channel:{x} 0']);
    await recording.stop();
  });

  it('reports errors by class and message, also within a batch', async () => {
    const t1 = peer.thread('t1');
    const error = await t1.call(at.lock('x'), 'unlock').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(RemoteError);
    expect((error as RemoteError).kind).to.equal('IllegalMonitorState');
    expect((error as RemoteError).message).to.equal(
      'attempt to unlock lock, not locked by current thread by ' +
        `node id: ${peer.clientId} thread-id: ${await t1.id()}`,
    );
    const calls = ['lock', 'nonsense', 'unlock'].map((method) => ({ object: at.lock('x'), method, args: [] }));
    expect((await t1.batch(calls)).map((entry) => entry.ok)).to.deep.equal([true, false, true]);
  });

  it('interrupts a waiting thread', async () => {
    await peer.thread('t1').call(at.lock('x'), 'lock');
    const t2 = peer.thread('t2');
    const waiting = t2.call(at.lock('x'), 'lockInterruptibly').then(
      () => 'locked',
      (reason: RemoteError) => reason.kind,
    );
    await probe.untilSubscribed('redisson_lock__channel:{x}');
    await t2.interrupt();
    // Redisson wraps the interruption when it meets a command under way.
    expect(await waiting).to.be.oneOf(['Interrupted', 'Redis']);
  });

  it('puts the prefix of a NameMapper before every name', async () => {
    const mapped = await java.peer({ addresses: [server.url], nameMapperPrefix: 'app:' });
    await mapped.call(at.fair('x'), 'lock');
    await mapped.call(at.semaphore('{s}'), 'trySetPermits', 1);
    expect(await probe.keys()).to.deep.equal(['app:x', 'app:{s}']);
    await mapped.shutdown();
  });

  it('runs load of its own: sequential, hot, wake-up, drain', async () => {
    const sequential = await peer.bench('sequential', { object: at.lock('x'), n: 50, warmup: 10 });
    expect(sequential.perSecond).to.be.above(0);
    const hot = await peer.bench('hot', {
      object: at.lock('x'),
      threads: 3,
      durationMs: 200,
      check: { client: peer.name, counter: 'counter', holder: 'holder' },
    });
    expect(hot).to.include({ violations: 0, error: null });
    const total = hot.acquisitions.reduce((sum, one) => sum + one, hot.late);
    expect(await probe.redis.get('counter')).to.equal(String(total));
    const wakeup = await peer.bench('wakeup', { object: at.lock('x'), rounds: 3 });
    expect(wakeup.p50).to.be.above(0);
    const drain = await peer.bench('drain', { object: at.lock('x'), waiters: 5, settleMs: 100 });
    expect(drain.roundsMs).to.have.length(1);
  });

  it('dies with a SIGKILL and leaves its holds to expire', async () => {
    const doomed = await JavaRedisson.start();
    const victim = await doomed.peer({ addresses: [server.url], lockWatchdogTimeout: 3500 });
    await victim.call(at.lock('x'), 'lock');
    await doomed.kill();
    expect(await probe.redis.exists('x')).to.equal(1);
    await probe.untilGone('x');
  });

  it('says so when java or mvn is missing', () => {
    const pathBefore = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    try {
      expect(whyNoJava()).to.match(/^needs java and mvn on the PATH/);
    } finally {
      process.env['PATH'] = pathBefore;
    }
  });
});
