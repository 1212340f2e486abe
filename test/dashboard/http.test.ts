import { expect } from 'chai';
import { createHash } from 'node:crypto';
import * as net from 'node:net';
import { CommandError, CommandTimeoutError, ConfigError, ConnectionError, Redisson } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import type { LockDetail, WindowView } from '../../lib/operators/dashboard/wire';
import { redisUrl, sleepUntil, trackClient } from '../support';
import { FakeSource, report } from './support/FakeSource';
import { ask, client, dashboardOf, Reader, serve } from './support/world';

const EVIL = 'a\n\nevent: health\ndata: {}\r\n</script><img src=x onerror=alert(1)>\u202e\u2028';

describe('the dashboard: what it answers', () => {
  it('the page: one file, under a policy that lets only its own script and style run', async () => {
    const base = await serve(dashboardOf(new FakeSource()));
    const { status, headers, text } = await ask(`${base}/`);
    expect(status).to.equal(200);
    expect(headers['content-type']).to.equal('text/html; charset=utf-8');
    const [, script] = /<script>([\s\S]*)<\/script>/.exec(text)!;
    const [, style] = /<style>([\s\S]*)<\/style>/.exec(text)!;
    const policy = headers['content-security-policy'] as string;
    for (const one of [script!, style!]) {
      expect(policy).to.contain(`'sha256-${createHash('sha256').update(one).digest('base64')}'`);
    }
    expect(policy).to.contain("default-src 'none'").and.to.contain("frame-ancestors 'none'");
    expect(policy).not.to.match(/unsafe|\*/);
    expect(headers).to.include({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    });
    // Nothing is loaded from anywhere: no address but the names of namespaces.
    expect(text.replace(/http:\/\/www\.w3\.org\/[\w/]+/g, '')).not.to.match(/https?:\/\//);
    expect(text).not.to.match(/\son\w+="/);
  });

  it('what the clients answered: who waits, for how long, how many callers, the circle, what the holder says', async () => {
    const [holder] = report('a').holders;
    const hold = { since: 500, leaseMs: -1, renewals: 3, delayMs: 0, utilization: 0.1, callSite: 'job.js:1:2' };
    const process = { clientId: 'c', host: 'web-2', pid: 8, callers: 6, since: 2_000 };
    const link = { name: 'a', owner: 'c:1', clientId: 'c', host: 'web-2', pid: 8, waitsFor: 'b', since: 2_000 };
    const verdict = { kind: 'dead-lock', sentence: 'A dead-lock.', circle: [link] } as const;
    const source = new FakeSource(
      report('a', { holders: [{ ...holder!, hold }], heldSince: 500, waiters: 1, waiting: [process], verdict }),
    );
    const base = await serve(dashboardOf(source));
    const { text } = await ask(`${base}/api/locks`);
    const [row] = (JSON.parse(text) as WindowView).rows;
    expect(row).to.include({ waiters: 6, waitedSince: 2_000, heldSince: 500, exact: true });
    const detail = await ask(`${base}/api/lock?name=a`);
    const { waiting, circle, holders } = (JSON.parse(detail.text) as { lock: LockDetail }).lock;
    expect({ waiting, circle, hold: holders[0]!.hold }).to.deep.equal({ waiting: [process], circle: [link], hold });
  });

  it('the list: sorted, searched, by pages', async () => {
    const source = new FakeSource(
      report('young', { heldSince: 5_000 }),
      report('old', { heldSince: 1_000 }),
      report('busy', { heldSince: 3_000, waiters: 4 }),
      report('dead', { heldSince: 4_000, verdict: { kind: 'holder-gone', sentence: 'Gone.' } }),
      report('nobody', { holders: [], ttlMs: -2, verdict: { kind: 'free', sentence: 'Free.' }, waiters: 1 }),
    );
    const base = await serve(dashboardOf(source));
    const names = async (query: string): Promise<string[]> => {
      const { text } = await ask(`${base}/api/locks?${query}`);
      return (JSON.parse(text) as WindowView).rows.map(({ name }) => name);
    };
    expect(await names('')).to.deep.equal(['dead', 'busy', 'nobody', 'old', 'young']);
    expect(await names('sort=held')).to.deep.equal(['old', 'busy', 'dead', 'young', 'nobody']);
    expect((await names('sort=waited')).slice(0, 2)).to.deep.equal(['busy', 'nobody']);
    expect(await names('sort=name')).to.deep.equal(['busy', 'dead', 'nobody', 'old', 'young']);
    expect(await names('state=trouble')).to.deep.equal(['dead']);
    expect(await names('search=OU')).to.deep.equal(['young']);
    expect(await names('search=web-1:4711&sort=name')).to.deep.equal(['busy', 'dead', 'old', 'young']);
    expect(await names('sort=name&offset=1&limit=2')).to.deep.equal(['dead', 'nobody']);
    const { text } = await ask(`${base}/api/locks?limit=1`);
    expect(JSON.parse(text)).to.deep.include({
      matched: 5,
      counts: { all: 5, held: 4, waited: 2, trouble: 1, free: 1 },
      complete: true,
    });
  });

  it('one lock, with its holders and what has happened to it', async () => {
    const source = new FakeSource(report('a'));
    const base = await serve(dashboardOf(source));
    const reader = new Reader(`${base}/api/stream?name=a`);
    await reader.next('lock');
    source.see(report('a', { waiters: 2 }));
    await reader.next('lock', ({ lock }: { lock: { waiters: number } }) => lock.waiters === 2);
    const { lock } = JSON.parse((await ask(`${base}/api/lock?name=a`)).text) as {
      lock: { holders: { process: { host: string } }[]; events: { text: string }[] };
    };
    expect(lock.holders[0]!.process.host).to.equal('web-1');
    expect(lock.events[0]).to.include({ text: '2 waiters', source: 'seen' });
    expect((await ask(`${base}/api/lock?name=none`)).status).to.equal(404);
    expect((await ask(`${base}/api/lock`)).status).to.equal(400);
  });

  it('keeps the last 50 events of a lock', async () => {
    const source = new FakeSource(report('a'));
    const base = await serve(dashboardOf(source));
    const reader = new Reader(`${base}/api/stream?name=a`);
    await reader.next('lock');
    for (let i = 1; i <= 60; i++) source.see(report('a', { waiters: i }));
    const { lock } = JSON.parse((await ask(`${base}/api/lock?name=a`)).text) as {
      lock: { events: { text: string }[] };
    };
    expect(lock.events).to.have.lengthOf(50);
    expect(lock.events[0]!.text).to.equal('60 waiters');
  });

  it("names are anybody's input: nothing of one gets out of its JSON", async () => {
    const source = new FakeSource(report(EVIL));
    const base = await serve(dashboardOf(source));
    const reader = new Reader(`${base}/api/stream?name=${encodeURIComponent(EVIL)}`);
    // The reader refuses messages of more than two lines.
    const seen = await sleepUntil(() => reader.messages.find(({ data }) => (data['rows'] as unknown[])?.length > 0));
    expect((seen.data as unknown as WindowView).rows[0]!.name).to.equal(EVIL);
    await reader.next('lock', ({ name }: { name: string }) => name === EVIL);
    const list = await ask(`${base}/api/locks`);
    expect(list.headers['content-type']).to.equal('application/json; charset=utf-8');
    const page = await ask(`${base}/?name=${encodeURIComponent(EVIL)}`);
    expect(page.text).not.to.contain('onerror=alert');
    const long = 'x'.repeat(100_000);
    source.see(report(long), report(`${long}y`));
    const { rows } = JSON.parse((await ask(`${base}/api/locks?search=${long.slice(0, 3)}`)).text) as WindowView;
    expect(rows).to.have.lengthOf(2);
    expect(rows[0]!.name).not.to.equal(rows[1]!.name);
    expect(rows[0]!.name.length).to.be.below(1_100);
  });

  it('refuses what it does not know, and says what it would take', async () => {
    const base = await serve(dashboardOf(new FakeSource()));
    for (const path of [
      '/api',
      '/api/',
      '/api/locks/',
      '/..',
      '/%2e%2e/etc/passwd',
      '/api/../api/locks',
      '//api/locks',
      '/API/locks',
    ]) {
      expect((await ask(base + path)).status, path).to.equal(404);
    }
    for (const path of ['/', '/api/locks', '/api/stream', '/api/session', '/api/lock?name=a', '/api/health']) {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const { status, headers } = await ask(base + path, { method });
        expect([path, method, status, headers['allow']]).to.deep.equal([path, method, 405, 'GET, HEAD']);
        expect(headers).not.to.have.any.keys('access-control-allow-origin', 'access-control-allow-methods');
      }
      const head = await ask(base + path, { method: 'HEAD' });
      expect([path, head.status, head.text]).to.deep.equal([path, path.includes('name=') ? 404 : 200, '']);
    }
    for (const query of [
      'sort=x',
      'state=x',
      'kind=x',
      'offset=-1',
      'limit=0',
      'limit=9999',
      'limit=1e9',
      'sort=__proto__',
    ]) {
      expect((await ask(`${base}/api/locks?${query}`)).status, query).to.equal(400);
      expect((await ask(`${base}/api/stream?${query}`)).status, query).to.equal(400);
    }
    expect((await ask(`${base}/api/locks?search=${'x'.repeat(9_000)}`)).status).to.equal(414);
  });

  it('authorize comes before everything: 403 for false, 500 for an error, and nothing is shown', async () => {
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => void warnings.push(text) };
    const redisson = trackClient(Redisson.create({ url: redisUrl(), logger }));
    const source = new FakeSource(report('secret-name'));
    let answer: () => unknown = () => false;
    const authorize = (): boolean => answer() as boolean;
    const base = await serve(dashboardOf(source, { redisson, authorize, readOnly: false }));
    const cases: [() => unknown, number][] = [
      [() => false, 403],
      [() => undefined, 403],
      [() => 'yes', 403],
      [() => Promise.resolve(false), 403],
      [() => Promise.reject(new Error('secret-reason')), 500],
      [
        () => {
          throw new Error('secret-reason');
        },
        500,
      ],
    ];
    for (const [given, status] of cases) {
      answer = given;
      for (const path of [
        '/',
        '/api/locks',
        '/api/stream',
        '/api/session',
        '/api/lock?name=a',
        '/api/health',
        '/nothing',
      ]) {
        const end = await ask(base + path);
        expect([path, end.status]).to.deep.equal([path, status]);
        expect(end.text).not.to.match(/secret|<html/);
      }
      const change = await ask(`${base}/api/unlock`, { method: 'POST', body: '{"name":"secret-name"}' });
      expect(change.status).to.equal(status);
    }
    expect(source.watches + source.inspections).to.equal(0);
    expect(warnings.length).to.be.above(0);
    answer = () => Promise.resolve(true);
    expect((await ask(`${base}/`)).status).to.equal(200);
  });

  it('says that Redis is down, slow or denies, and recovers', async () => {
    const source = new FakeSource(report('a'));
    const redisson = client();
    const base = await serve(dashboardOf(source, { redisson }));
    const reader = new Reader(`${base}/api/stream`);
    await reader.next('health', ({ state }: { state: string }) => state === 'ok');
    const noperm = new Error("NOPERM this user has no permissions to run the 'scan' command");
    const errors: [string, Error][] = [
      ['down', new ConnectionError('no connection', false)],
      ['slow', new CommandTimeoutError('list', 3_000, false)],
      ['denied', new CommandError('list', noperm)],
    ];
    for (const [state, error] of errors) {
      source.tell({ kind: 'outage', at: Date.now(), error });
      const { data } = await reader.next('health', (one: { state: string }) => one.state === state);
      expect(data['message']).to.be.a('string').and.not.to.equal('');
      const list = JSON.parse((await ask(`${base}/api/locks`)).text) as WindowView & { health: { state: string } };
      expect([list.rows.length, list.health.state]).to.deep.equal([1, state]);
      source.tell({ kind: 'recovered', at: Date.now() });
      const seen = reader.messages.length;
      await sleepUntil(() => reader.messages.slice(seen - 1).some(({ data: { state: now } }) => now === 'ok'));
    }
  });

  it('a body: JSON only, small, and in time', async () => {
    const base = await serve(dashboardOf(new FakeSource(), { readOnly: false }));
    const { token } = JSON.parse((await ask(`${base}/api/session`)).text) as { token: string };
    const headers = { origin: base, 'x-ioredisson-token': token };
    const json = { ...headers, 'content-type': 'application/json' };
    const send = async (body: string, more: Record<string, string> = json): Promise<number> =>
      (await ask(`${base}/api/unlock`, { method: 'POST', headers: more, body })).status;
    expect(await send('name=a', { ...headers, 'content-type': 'application/x-www-form-urlencoded' })).to.equal(415);
    expect(await send('{"name":"a"}', { ...headers, 'content-type': 'text/plain' })).to.equal(415);
    for (const body of ['', '{', '[]', 'null', '"a"', '{}', '{"name":1,"confirm":1}', '{"name":"a","confirm":"b"}']) {
      expect(await send(body), body).to.equal(400);
    }
    expect(await send(`{"name":"${'x'.repeat(20_000)}"}`)).to.equal(413);
    expect(await send(JSON.stringify({ name: 'a', confirm: 'a', holders: [1] }))).to.equal(400);
  });

  it('requests that are aborted leave nothing behind', async () => {
    const source = new FakeSource(report('a'));
    const dashboard = dashboardOf(source, { readOnly: false });
    const base = await serve(dashboard);
    const readers = Array.from({ length: 20 }, () => new Reader(`${base}/api/stream`));
    for (const reader of readers) await reader.next('window');
    for (const reader of readers) reader.request.destroy();
    const { port } = new URL(base);
    const { token } = JSON.parse((await ask(`${base}/api/session`)).text) as { token: string };
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /api/unlock HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\norigin: ${base}\r\nx-ioredisson-token: ${token}\r\n` +
        'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"na',
    );
    socket.end();
    await new Promise((resolve) => socket.once('close', resolve).resume());
    await dashboard.close();
    expect(source.watching).to.equal(0);
    expect(source.closed).to.equal(true);
  });

  it('createDashboard: unknown options, a missing authorize and bad paths are refused', () => {
    const redisson = client();
    for (const basePath of [
      'locks',
      '/../etc',
      '/a/../b',
      '//evil.example',
      '/a?b',
      '/a#b',
      '/a b',
      '/a\n',
      '/./a',
      7,
    ]) {
      expect(() => createDashboard({ redisson, basePath: basePath as string }), String(basePath)).to.throw(ConfigError);
    }
    for (const wrong of [
      { autorize: () => false },
      { authorize: undefined },
      { readOnly: 'no' },
      { audit: 1 },
      { secret: 'x' },
    ]) {
      expect(() => createDashboard({ redisson, ...wrong } as never), JSON.stringify(wrong)).to.throw(ConfigError);
    }
    expect(() => createDashboard({} as never)).to.throw(ConfigError);
    expect(() => createDashboard(undefined as never)).to.throw(ConfigError);
    for (const basePath of ['/', '/locks', '/locks/', '/a/b-c/~d', '/%C3%A4']) {
      trackClient(createDashboard({ redisson, basePath }));
    }
  });
});
