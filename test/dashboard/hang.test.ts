import { expect } from 'chai';
import { hostname } from 'node:os';
import { ConfigError, Redisson } from '../../lib';
import { createDashboard, type DashboardOptions } from '../../lib/operators/dashboard';
import type { HealthView, LockDetail, LockRow, SessionView } from '../../lib/operators/dashboard/wire';
import type { ObjectReport } from '../../lib/operators/inspection';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../support';
import { FakeSource, report } from './support/FakeSource';
import { ask, changeHeaders, client, dashboardOf, Reader, serve } from './support/world';

describe('the dashboard: at 3 am', function () {
  this.timeout(30_000);

  async function sessionOf(base: string, host?: string): Promise<SessionView> {
    const { text } = await ask(`${base}/api/session`, host === undefined ? {} : { headers: { host } });
    return JSON.parse(text) as SessionView;
  }

  it('D7: says which server, database and user it shows, and no password', async () => {
    const server = trackClient(await RedisServer.start({ password: 'hidden' }));
    const { host } = new URL(server.url);
    const redisson = trackClient(Redisson.create(`${server.url}/3`));
    const base = await serve(trackClient(createDashboard({ redisson, label: 'production eu' })));
    const { target, runbook } = await sessionOf(base);
    expect(target).to.deep.equal({
      ...{ server: host, database: 3, user: 'default', url: `redis://${host}/3` },
      ...{ label: 'production eu', color: 'red' },
    });
    expect(runbook).to.match(/docs\/something-hangs\.md$/);
    expect(JSON.stringify(await sessionOf(base))).not.to.contain('hidden');
  });

  it('D7: staging does not look like production, and who chooses a colour has it', async () => {
    const colors: Record<string, string | undefined> = {};
    for (const options of [
      { label: 'staging' },
      { label: 'LIVE' },
      { label: 'x' },
      { label: 'x', color: 'blue' },
      {},
    ]) {
      const { target } = await sessionOf(await serve(dashboardOf(new FakeSource(), options as DashboardOptions)));
      colors[`${target.label} ${(options as DashboardOptions).color ?? ''}`] = target.color;
    }
    expect(colors).to.deep.equal({
      'staging ': 'amber',
      'LIVE ': 'red',
      'x ': undefined,
      'x blue': 'blue',
      'undefined ': undefined,
    });
    for (const wrong of [
      { label: '' },
      { label: 7 },
      { color: 'pink' },
      { hosts: [] },
      { hosts: ['https://a'] },
      { hosts: 'a' },
    ]) {
      expect(() => createDashboard({ redisson: client(), ...wrong } as DashboardOptions)).to.throw(ConfigError);
    }
  });

  it('D7: under a name that is not its own nothing is released (DNS rebinding)', async () => {
    const redisson = client();
    const lock = redisson.getLock(uniqueName());
    await lock.lock();
    const start = (hosts?: readonly string[]): Promise<string> =>
      serve(trackClient(createDashboard({ redisson, readOnly: false, ...(hosts && { hosts }) })));
    const unlock = async (base: string, host: string): Promise<number> => {
      const headers = { ...(await changeHeaders(base)), host, origin: `http://${host}` };
      const token = (await sessionOf(base)).token ?? 'x';
      const body = JSON.stringify({ name: lock.name, confirm: lock.name, holders: null });
      return (
        await ask(`${base}/api/unlock`, { method: 'POST', headers: { ...headers, 'x-ioredisson-token': token }, body })
      ).status;
    };
    const byDefault = await start();
    const named = await start(['locks.example', 'other.example:8443']);
    for (const [base, host] of [
      [byDefault, 'evil.example'],
      [byDefault, 'locks.example'],
      [named, 'evil.example'],
      [named, 'other.example:80'],
      [named, '127.0.0.1'],
    ] as const) {
      expect(await unlock(base, host), host).to.equal(403);
      // The page is there, and is read-only.
      expect(await sessionOf(base, host))
        .to.include({ readOnly: true })
        .and.not.to.have.property('token');
    }
    expect(await lock.isLocked()).to.equal(true);
    for (const host of ['localhost:7380', '[::1]:7380', '10.0.0.7', hostname()]) {
      expect(await sessionOf(byDefault, host), host).to.include({ readOnly: false });
    }
    for (const host of ['locks.example', 'LOCKS.example:1234', 'other.example:8443']) {
      expect(await sessionOf(named, host), host).to.include({ readOnly: false });
    }
    await lock.unlock();
  });

  it('a frozen Redis shows within 2 s, and stays shown until it answers', async () => {
    const server = trackClient(await RedisServer.start());
    const redisson = trackClient(Redisson.create(server.url));
    const base = await serve(trackClient(createDashboard({ redisson })));
    const reader = new Reader(`${base}/api/stream`);
    await reader.next('health', ({ state }: HealthView) => state === 'ok');
    await reader.next('window', ({ complete }: { complete: boolean }) => complete).catch(() => undefined);
    server.pause();
    const frozenAt = performance.now();
    try {
      await reader.next('health', ({ state }: HealthView) => state === 'silent');
      expect(performance.now() - frozenAt).to.be.below(2_000);
      // Longer than a command waits for its answer (3 s): it does not become well by that.
      const told = reader.messages.length;
      await sleepUntil(() => performance.now() - frozenAt > 4_500, { timeout: 10_000 });
      const states = reader.messages
        .slice(told)
        .flatMap(({ event, data }) => (event === 'health' ? [data['state']] : []));
      expect(states).not.to.include('ok');
    } finally {
      server.resume();
    }
    const before = reader.messages.length;
    await sleepUntil(
      () => reader.messages.slice(before).some(({ event, data }) => event === 'health' && data['state'] === 'ok'),
      { timeout: 15_000 },
    );
  });

  it('says what a restart without data has lost; one that kept its data has lost nothing', async () => {
    const server = trackClient(await RedisServer.start());
    const redisson = trackClient(Redisson.create(server.url));
    const holder = trackClient(Redisson.create(server.url));
    const names = [uniqueName(), uniqueName()].sort();
    for (const name of names) await holder.getLock(name).acquire({ leaseTime: 60_000 });
    const base = await serve(trackClient(createDashboard({ redisson })));
    const reader = new Reader(`${base}/api/stream?sort=name`);
    await reader.next('window', ({ rows }: { rows: unknown[] }) => rows.length === 2).catch(() => undefined);
    await sleepUntil(async () => (await ask(`${base}/api/locks`)).text.includes(names[1]!));
    await server.restart();
    const { data } = await sleepUntil(
      () =>
        reader.messages.find((one) => one.event === 'health' && (one.data as unknown as HealthView).lost?.locks === 2),
      { timeout: 20_000, message: 'the loss is told' },
    );
    expect([...(data as unknown as HealthView).lost!.names].sort()).to.deep.equal(names);
  });

  it('a lock behind which nobody waits: whoever opens it learns from its holder since when, and where it was taken', async () => {
    const source = new FakeSource(report('a', { heldSince: 9_000 }), report('b', { heldSince: 9_000 }));
    const [holder] = report('a').holders;
    const said = { since: 2_000, leaseMs: -1, renewals: 3, delayMs: 0, utilization: 0, callSite: '/app/x.js:7:1' };
    const verdict = { kind: 'held', sentence: 'Held by process 4711.' } as const;
    source.asked.set('a', report('a', { heldSince: 2_000, holders: [{ ...holder!, hold: said }], verdict }));
    const base = await serve(dashboardOf(source));
    const reader = new Reader(`${base}/api/stream?name=a`);
    interface Told {
      readonly lock: LockDetail;
    }
    const exact = ({ lock }: Told): boolean => lock.exact === true;
    const { lock } = (await reader.next('lock', exact)).data as unknown as Told;
    expect(lock).to.include({ heldSince: 2_000 });
    expect(lock.verdict.sentence).to.equal('Held by process 4711.');
    expect(lock.holders[0]!.hold).to.deep.equal(said);
    // What the watch sees next takes nothing of that away.
    source.see(report('a', { heldSince: 9_000, waiters: 2 }));
    const later = await reader.next('lock', ({ lock: { waiters } }: Told) => waiters === 2);
    expect((later.data as unknown as Told).lock).to.include({ heldSince: 2_000, exact: true });
    // Another holder is another story.
    const other = { ...holder!, owner: `${holder!.clientId}:8`, threadId: '8' };
    source.see(report('a', { heldSince: 9_500, waiters: 3, holders: [other] }));
    const next = await reader.next('lock', ({ lock: { waiters } }: Told) => waiters === 3);
    expect((next.data as unknown as Told).lock.heldSince).to.equal(9_500);
    expect((next.data as unknown as Told).lock).not.to.have.property('exact');
  });

  it('a detail changes no other row, for no page', async () => {
    const server = trackClient(await RedisServer.start());
    const [redisson, holder, waiter] = [0, 1, 2].map(() => trackClient(Redisson.create(server.url))) as [
      Redisson,
      Redisson,
      Redisson,
    ];
    const stop = new AbortController();
    for (const name of ['one', 'two', 'three']) {
      await holder.getLock(name).lock();
      void waiter
        .getLock(name)
        .lock(undefined, undefined, { signal: stop.signal })
        .catch(() => undefined);
    }
    const base = await serve(trackClient(createDashboard({ redisson, watchAlways: true })));
    const told = async (): Promise<string> => {
      const { rows } = JSON.parse((await ask(`${base}/api/locks?sort=name`)).text) as { rows: LockRow[] };
      return rows.map(({ name, holders: [one] }) => `${name} ${one?.hold !== undefined}`).join();
    };
    const all = 'one true,three true,two true';
    await sleepUntil(async () => (await told()) === all, { timeout: 15_000 });
    // A page with an open detail asks each second or so.
    const seen = new Set<string>();
    for (let i = 0; i < 8; i++) {
      await ask(`${base}/api/lock?name=one`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      seen.add(await told());
    }
    expect([...seen]).to.deep.equal([all]);
    stop.abort(new Error('the test is over'));
  });

  it('what several looks have taught, one look does not take back: it is renewed no more', async () => {
    const verdict = { kind: 'not-renewed', sentence: 'It was renewed before.' } as const;
    const source = new FakeSource(report('a', { verdict, ttlMs: 9_000 }));
    const [holder] = report('a').holders;
    const hold = { since: 2_000, leaseMs: -1, renewals: 3, delayMs: 0, utilization: 0 };
    source.asked.set('a', report('a', { holders: [{ ...holder!, hold }], ttlMs: 9_000 }));
    const base = await serve(dashboardOf(source, { watchAlways: true }));
    const kind = async (): Promise<string | undefined> => {
      const { lock } = JSON.parse((await ask(`${base}/api/lock?name=a`)).text) as { lock: LockDetail };
      return lock.exact === true ? lock.verdict.kind : undefined;
    };
    await sleepUntil(async () => (await kind()) === 'not-renewed');
    source.asked.set('a', report('a', { holders: [{ ...holder!, hold }], ttlMs: 30_000 }));
    expect(await kind()).to.equal('held');
  });

  it('what a holder has said of since when and where stays when it answers no more', async () => {
    const [holder] = report('a').holders;
    const hold = { since: 2_000, leaseMs: -1, renewals: 3, delayMs: 0, utilization: 0, callSite: '/app/x.js:7:1' };
    const source = new FakeSource(report('a', { waiters: 1, heldSince: 2_000, holders: [{ ...holder!, hold }] }));
    const base = await serve(dashboardOf(source, { watchAlways: true }));
    const read = async (): Promise<LockDetail | undefined> =>
      (JSON.parse((await ask(`${base}/api/lock?name=a`)).text) as { lock: LockDetail | undefined }).lock;
    await sleepUntil(async () => (await read())?.exact === true);
    const verdict = { kind: 'not-renewed', sentence: 'It is frozen.' } as const;
    const silent = { ...holder!, silent: true, silentSince: 70_000 } as const;
    source.see(report('a', { waiters: 1, heldSince: 9_000, verdict, holders: [silent] }));
    await sleepUntil(async () => (await read())?.verdict.kind === 'not-renewed');
    const lock = (await read())!;
    expect(lock).to.include({ heldSince: 2_000, exact: true });
    expect(lock.holders[0]).to.include({ callSite: '/app/x.js:7:1', silentSince: 70_000 });
    expect(lock.holders[0]).not.to.have.property('hold');
  });

  it('two that have waited equally long keep their places, though each answer tells their times a little differently', async () => {
    const verdict = { kind: 'dead-lock', sentence: 'A dead-lock.' } as const;
    const said = (name: string, since: number, callers = 1): ObjectReport => {
      const waiting = [{ clientId: 'c', host: 'h', pid: 1, callers, since }];
      return report(name, { waiters: 1, verdict, waiting, heldSince: since - 1_000 });
    };
    const source = new FakeSource(said('a', 50_002), said('b', 50_000));
    const base = await serve(dashboardOf(source, { watchAlways: true }));
    const rows = async (): Promise<LockRow[]> =>
      (JSON.parse((await ask(`${base}/api/locks`)).text) as { rows: LockRow[] }).rows;
    await sleepUntil(async () => (await rows()).length === 2);
    expect((await rows()).map(({ name }) => name)).to.deep.equal(['b', 'a']);
    source.see(said('a', 49_998, 2), said('b', 50_003));
    await sleepUntil(async () => (await rows()).some(({ name, waiters }) => name === 'a' && waiters === 2));
    expect((await rows()).map(({ name }) => name)).to.deep.equal(['b', 'a']);
    // Another wait is another time.
    source.see(said('a', 40_000, 3));
    await sleepUntil(async () => (await rows())[0]?.name === 'a');
  });

  it('trouble first, then who waits longest', async () => {
    const source = new FakeSource(report('calm', { heldSince: 1 }));
    const base = await serve(dashboardOf(source, { watchAlways: true }));
    const names = async (): Promise<string[]> =>
      (JSON.parse((await ask(`${base}/api/locks`)).text) as { rows: { name: string }[] }).rows.map(({ name }) => name);
    await sleepUntil(async () => (await names()).length === 1);
    source.see(report('first', { waiters: 1, heldSince: 9_000 }));
    await sleepUntil(async () => (await names()).length === 2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    source.see(report('second', { waiters: 40, heldSince: 2_000 }));
    source.see(report('gone', { verdict: { kind: 'holder-gone', sentence: 'Gone.' }, heldSince: 9_999 }));
    await sleepUntil(async () => (await names()).length === 4);
    expect(await names()).to.deep.equal(['gone', 'first', 'second', 'calm']);
  });
});
