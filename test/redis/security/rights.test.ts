import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CommandError, Redisson } from '../../../lib';
import { blockOf } from '../../../lib/operators/doctor/rights';
import { Inspector } from '../../../lib/operators/inspection';
import { ALL_KINDS, KINDS } from '../../../lib/kinds/allKinds';
import { RedisServer, risen, sleepUntil, trackClient } from '../../support';
import { refusals, rulesOf } from '../../support/securityPage';
import { HOLDS, WORKLOADS } from './workloads';

/** A workload that waits for a message that cannot come is not waited for longer, in ms. */
const STUCK_MS = 2_500;
/** The same where all messages should come: the machine may stand still for two seconds. */
const PATIENT_MS = 10_000;
/** The watchdog time-out, in ms: no lease runs out while the machine stands still. */
const WATCHDOG_MS = 6_000;

describe('docs/security.md: a user with the rights of the page and no others', function () {
  this.timeout(60_000);

  let server: RedisServer;
  let admin: Redis;

  before(async () => {
    server = await RedisServer.start();
  });
  beforeEach(async () => {
    admin = trackClient(new Redis(server.url));
    await admin.flushall();
  });
  after(() => server.stop());

  /** Runs what a kind is for. @returns what Redis refused to do, and what failed */
  async function tryOut(
    kind: keyof typeof WORKLOADS,
    rules: readonly string[],
    stuckMs = STUCK_MS,
  ): Promise<{ refused: string[]; failure?: unknown }> {
    await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
    await admin.call('acl', 'log', 'reset');
    const url = `redis://service:secret@127.0.0.1:${server.port}`;
    const [a, b] = [1, 2].map(() => Redisson.create({ url, lockWatchdogTimeout: WATCHDOG_MS })) as [Redisson, Redisson];
    const untilWaiting = async (): Promise<void> => {
      const listening = async (): Promise<boolean> => ((await admin.pubsub('CHANNELS')) as string[]).length > 0;
      await sleepUntil(listening, { timeout: stuckMs });
    };
    let failure: unknown;
    let timer: NodeJS.Timeout | undefined;
    const stuck = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${kind} is stuck`)), 2 * stuckMs);
    });
    const work = WORKLOADS[kind]({ a, b, url, untilWaiting });
    try {
      await Promise.race([work, stuck]);
    } catch (error) {
      failure = error;
    } finally {
      clearTimeout(timer);
      await Promise.all([a.shutdown(), b.shutdown()]);
      await work.catch(() => undefined);
      await admin.flushall();
    }
    const refused = refusals(await admin.call('acl', 'log'));
    return { refused, ...(failure !== undefined && { failure }) };
  }

  for (const kind of ['inspection', ...ALL_KINDS.map(({ name }) => name)] as const) {
    const block = kind === 'inspection' ? kind : blockOf(KINDS[kind]);

    it(`${kind}: they are enough`, async () => {
      if (kind === 'inspection') await populate();
      const rules = [...rulesOf('connection'), ...rulesOf(block)];
      expect(await tryOut(kind, rules, PATIENT_MS)).to.deep.equal({ refused: [] });
    });

    if (kind === 'multi' || kind === 'red') continue;
    it(`${kind}: none is too many of its keys and channels`, async () => {
      const rules = rulesOf(block);
      for (const rule of rules.filter((one) => !one.startsWith('+'))) {
        if (kind === 'inspection') await populate();
        const rest = [...rulesOf('connection'), ...rules.filter((one) => one !== rule)];
        const { refused, failure } = await tryOut(kind, rest);
        expect(refused.length > 0 || failure !== undefined, rule).to.equal(true);
      }
    });
  }

  it('all kinds that are renewed: they are enough for that', async () => {
    await admin.call('acl', 'log', 'reset');
    const renewed = async (kind: keyof typeof HOLDS): Promise<void> => {
      const rules = [...rulesOf('connection'), ...rulesOf(blockOf(KINDS[kind]))];
      await admin.call('acl', 'setuser', kind, 'reset', 'on', '>secret', ...rules);
      const url = `redis://${kind}:secret@127.0.0.1:${server.port}`;
      const client = trackClient(Redisson.create({ url, lockWatchdogTimeout: WATCHDOG_MS }));
      const hold = await HOLDS[kind](client, `app:${kind}`);
      const livesLonger = risen(() => admin.pttl(`app:${kind}`));
      await sleepUntil(livesLonger, { message: `${kind} is renewed` });
      await hold.unlock();
    };
    await Promise.all((Object.keys(HOLDS) as (keyof typeof HOLDS)[]).map(renewed));
    expect(refusals(await admin.call('acl', 'log'))).to.deep.equal([]);
  });

  // EVALSHA only comes from the second use of a script on.
  it('inspection: none of its commands is too many', async () => {
    const rules = rulesOf('inspection');
    for (const rule of rules.filter((one) => one.startsWith('+') && one !== '+evalsha')) {
      await populate();
      const rest = [...rulesOf('connection'), ...rules.filter((one) => one !== rule)];
      const { refused, failure } = await tryOut('inspection', rest);
      expect(refused.length > 0 || failure !== undefined, rule).to.equal(true);
    }
  });

  it('inspection: keys of others are passed over, also parts of locks; a missing command is told', async () => {
    const others = ['other:text', 'redisson_lock_queue:{other:fair}', '{other:permits}:timeout'];
    const rules = [...rulesOf('connection'), ...rulesOf('inspection')];
    const list = async (...more: string[]): Promise<string[]> => {
      await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules, ...more);
      const inspector = Inspector.open(`redis://service:secret@127.0.0.1:${server.port}`);
      trackClient({ stop: () => inspector.close() });
      return (await inspector.list()).map(({ name }) => name);
    };
    await populate();
    const shown = await list();
    expect(shown).to.include.members(['app:lock', 'app:fair', 'app:permits']);
    await admin.set(others[0]!, 1);
    await admin.rpush(others[1]!, 'somebody');
    await admin.zadd(others[2]!, 1, 'somebody');
    expect(await list()).to.deep.equal(shown);
    // Here the queue may be seen, and its lock not.
    expect(await list('~redisson_lock_queue:{other:*')).to.deep.equal(shown);
    const error = await list('-type').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(CommandError).and.to.include({ reply: 'NOPERM' });
  });

  it('a refused channel is told by the first wait, as a CommandError, and nothing is left behind', async () => {
    const rules = rulesOf('lock').filter((rule) => !rule.startsWith('&'));
    await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rulesOf('connection'), ...rules);
    await admin.hset('app:x', 'somebody', 1);
    const client = trackClient(Redisson.create(`redis://service:secret@127.0.0.1:${server.port}`));
    const error = await client
      .getLock('app:x')
      .acquire({ waitTime: 5_000 })
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(CommandError);
    expect((error as CommandError).message)
      .to.contain('redisson_lock__channel:{app:x}')
      .and.to.contain('NOPERM');
    expect(await admin.hgetall('app:x')).to.deep.equal({ somebody: '1' });
  });

  async function populate(): Promise<void> {
    const owner = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:42';
    for (const name of ['lock', 'fair', 'fenced']) await admin.hset(`app:${name}`, owner, 1);
    await admin.rpush('redisson_lock_queue:{app:fair}', owner);
    await admin.zadd('redisson_lock_timeout:{app:fair}', 1, owner);
    await admin.set('redisson_lock_token:{app:fenced}', 7);
    await admin.hset('app:rw', { mode: 'read', [owner]: 1 });
    await admin.set('app:permits', 1);
    await admin.zadd('{app:permits}:timeout', 1, 'x'.repeat(16));
    const many = Array.from({ length: 600 }, (_, i) => [`${owner}${i}`, 1]).flat();
    await admin.hset('app:big', ...many);
    await admin.set('app:text', 'text');
  }
});
