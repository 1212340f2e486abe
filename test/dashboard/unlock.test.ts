import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type AuditEntry, createDashboard, type DashboardOptions } from '../../lib/operators/dashboard';
import { allowLeftovers, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { ask, changeHeaders, client, Reader, serve } from './support/world';

describe('the dashboard: forced unlock', () => {
  async function start(options: Partial<DashboardOptions> = {}): Promise<string> {
    return serve(trackClient(createDashboard({ redisson: client(), readOnly: false, ...options })));
  }

  async function unlock(
    base: string,
    body: unknown,
    headers?: Record<string, string | undefined>,
  ): Promise<{ status: number; json: Record<string, unknown> }> {
    const all = { ...(await changeHeaders(base)), ...headers };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const { status, text } = await ask(`${base}/api/unlock`, {
      method: 'POST',
      headers: given,
      body: JSON.stringify(body),
    });
    return { status, json: JSON.parse(text) as Record<string, unknown> };
  }

  it('releases a lock of each kind, wakes who waits, and tells audit', async () => {
    allowLeftovers({ keys: /lock_token/ });
    const entries: AuditEntry[] = [];
    const base = await start({ audit: (entry) => void entries.push(entry), identify: () => 'ada' });
    const holder = client();
    const pair = holder.getReadWriteLock(uniqueName());
    for (const [kind, lock] of [
      ['lock', holder.getLock(uniqueName())],
      ['fenced', holder.getFencedLock(uniqueName())],
      ['readWrite', pair.readLock()],
      ['readWrite', pair.writeLock()],
    ] as const) {
      await lock.lock();
      const { status, json } = await unlock(base, { name: lock.name, confirm: lock.name, holders: null });
      expect([kind, status, json]).to.deep.equal([kind, 200, { name: lock.name, released: true }]);
      expect(await lock.isLocked()).to.equal(false);
      const entry = entries.at(-1)!;
      expect(entry).to.include({ action: 'forceUnlock', name: lock.name, kind, released: true, by: 'ada' });
      expect(entry.holders[0]).to.contain(holder.getId());
      expect(entry.at).to.be.an.instanceOf(Date);
    }
    expect(entries).to.have.lengthOf(4);
    const fair = holder.getFairLock(uniqueName());
    await fair.lock();
    const other = client();
    const got = other.getFairLock(fair.name).acquire();
    const reader = new Reader(`${base}/api/stream?name=${fair.name}`);
    await reader.next('lock', ({ lock }: { lock: { queue?: unknown[] } | null }) => lock?.queue?.length === 1);
    expect((await unlock(base, { name: fair.name, confirm: fair.name, holders: null })).json).to.include({
      released: true,
    });
    await (await got).unlock();
  });

  it('only from a page of its own: origin, fetch metadata, token, method, content type', async () => {
    const base = await start();
    const lock = client().getLock(uniqueName());
    await lock.lock();
    const body = { name: lock.name, confirm: lock.name, holders: null };
    const old = `${Date.now() - 1}.${'A'.repeat(43)}`;
    const refused: [string, Record<string, string | undefined>][] = [
      ['another origin', { origin: 'https://evil.example' }],
      ['another port', { origin: 'http://127.0.0.1:1' }],
      ['a sandboxed page', { origin: 'null' }],
      ['no origin at all', { origin: undefined }],
      ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
      ['a page of the same site', { 'sec-fetch-site': 'same-site' }],
      ['a bookmark', { 'sec-fetch-site': 'none' }],
      ['another origin that claims the host', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
      ['no token', { 'x-ioredisson-token': undefined }],
      ['a wrong token', { 'x-ioredisson-token': 'x' }],
      ['an old token', { 'x-ioredisson-token': old }],
      ['a token that lasts longer', { 'x-ioredisson-token': `9${(await changeHeaders(base))['x-ioredisson-token']}` }],
    ];
    for (const [what, headers] of refused) expect((await unlock(base, body, headers)).status, what).to.equal(403);
    const simple = { 'content-type': 'text/plain' };
    expect((await unlock(base, body, simple)).status).to.equal(415);
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) {
      const headers = await changeHeaders(base);
      const end = await ask(`${base}/api/unlock?name=${lock.name}&confirm=${lock.name}`, { method, headers });
      expect([method, end.status]).to.deep.equal([method, 405]);
      expect(end.headers['access-control-allow-origin']).to.equal(undefined);
    }
    for (const confirm of [undefined, '', lock.name.toUpperCase(), `${lock.name} `]) {
      expect((await unlock(base, { name: lock.name, confirm, holders: null })).status).to.equal(400);
    }
    expect(await lock.isLocked()).to.equal(true);
    // Behind a proxy that changes Host.
    const proxied = {
      origin: 'https://locks.example',
      'x-forwarded-host': 'locks.example',
      'sec-fetch-site': 'same-origin',
    };
    expect((await unlock(base, body, proxied)).json).to.include({ released: true });
  });

  it('from nobody without holders, as a page sends them that has lost its own; null: whoever has it now', async () => {
    const base = await start();
    const lock = client().getLock(uniqueName());
    await lock.lock();
    const request = { name: lock.name, confirm: lock.name };
    for (const holders of [undefined, 'a:1', {}, [null]]) {
      const { status, json } = await unlock(base, { ...request, holders });
      expect([status, json['error']]).to.deep.equal([
        400,
        'Send the owners that you have seen as holders; null: whoever has it now.',
      ]);
    }
    expect(await lock.isLocked()).to.equal(true);
    expect((await unlock(base, { ...request, holders: null })).json).to.include({ released: true });
  });

  it('read-only by default: 403 whatever is sent, and no token is given', async () => {
    const redisson = client();
    const lock = redisson.getLock(uniqueName());
    await lock.lock();
    for (const options of [{}, { readOnly: true }]) {
      const base = await serve(trackClient(createDashboard({ redisson, ...options })));
      expect(JSON.parse((await ask(`${base}/api/session`)).text)).not.to.have.property('token');
      const { status } = await unlock(base, { name: lock.name, confirm: lock.name, holders: null });
      expect(status).to.equal(403);
    }
    expect(await lock.isLocked()).to.equal(true);
    await lock.unlock();
  });

  it('not when somebody else holds it by now, nor what is no lock', async () => {
    const base = await start();
    const [first, second] = [client(), client()];
    const name = uniqueName();
    await first.getLock(name).lock();
    const seen = await owners(name);
    await first.getLock(name).forceUnlock();
    await second.getLock(name).lock();
    const { status, json } = await unlock(base, { name, confirm: name, holders: seen });
    expect([status, json['error']]).to.deep.equal([
      409,
      'Somebody else holds this lock by now. Nothing was changed. Look again.',
    ]);
    expect((await unlock(base, { name, confirm: name, holders: await owners(name) })).json).to.include({
      released: true,
    });
    expect((await unlock(base, { name, confirm: name, holders: null })).json).to.include({ released: false });
    const redis = trackClient(new Redis(redisUrl()));
    await redis.set(name, '12');
    expect((await unlock(base, { name, confirm: name, holders: null })).status).to.equal(409);
    await redis.del(name);
    await redis.rpush(name, 'x');
    expect((await unlock(base, { name, confirm: name, holders: null })).status).to.equal(409);
    await redis.del(name);
  });

  it('an audit that fails is told, and the lock is released all the same', async () => {
    const base = await start({ audit: () => Promise.reject(new Error('disk full')) });
    const lock = client().getLock(uniqueName());
    await lock.lock();
    const warning = new Promise<Error>((resolve) => process.once('warning', resolve));
    const { json } = await unlock(base, { name: lock.name, confirm: lock.name, holders: null });
    expect(json).to.deep.equal({ name: lock.name, released: true, warning: 'The audit of this change has failed.' });
    expect((await warning).message).to.contain('disk full');
  });

  it('processes behind one address take the tokens of each other where they have the same secret', async () => {
    const secret = 'a secret of sixteen characters';
    const [one, two, stranger] = [await start({ secret }), await start({ secret }), await start()];
    const name = uniqueName();
    const token = (await changeHeaders(one))['x-ioredisson-token']!;
    expect(
      (await unlock(two, { name, confirm: name, holders: null }, { 'x-ioredisson-token': token })).status,
    ).to.equal(200);
    expect(
      (await unlock(stranger, { name, confirm: name, holders: null }, { 'x-ioredisson-token': token })).status,
    ).to.equal(403);
  });

  async function owners(name: string): Promise<string[]> {
    const redis = trackClient(new Redis(redisUrl()));
    return sleepUntil(async () => Object.keys(await redis.hgetall(name)));
  }
});
