import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson } from '../../lib';
import { type AuditEntry, createDashboard } from '../../lib/operators/dashboard';
import { RedisServer, sleepUntil, TcpProxy, trackClient } from '../support';
import { ask, changeHeaders, type RawAnswer, serve } from './support/world';

describe('the dashboard: one lock, while Redis does not do its part', function () {
  this.timeout(30_000);
  let server: RedisServer;
  let entries: AuditEntry[];

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    entries = [];
  });

  async function start(url: string): Promise<string> {
    const redisson = trackClient(Redisson.create({ url, timeout: 1_500, retryAttempts: 1 }));
    const audit = (entry: AuditEntry): void => void entries.push(entry);
    return serve(trackClient(createDashboard({ redisson, readOnly: false, audit })));
  }

  const read = (base: string): Promise<RawAnswer> => ask(`${base}/api/lock?name=a`);

  async function unlock(base: string): Promise<RawAnswer> {
    const headers = await changeHeaders(base);
    return ask(`${base}/api/unlock`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'a', confirm: 'a', holders: null }),
    });
  }

  const errorOf = ({ text }: RawAnswer): string => (JSON.parse(text) as { error: string }).error;

  for (const [what, begin] of Object.entries({
    'is down': (proxy: TcpProxy) => {
      proxy.refuse();
      proxy.cut();
    },
    'does not answer': (proxy: TcpProxy) => proxy.blackhole(),
  })) {
    it(`api/lock and api/unlock say that Redis ${what}, change nothing, and recover`, async () => {
      const proxy = trackClient(await TcpProxy.start(server.url));
      const base = await start(proxy.url);
      const holder = trackClient(Redisson.create(server.url));
      const lock = holder.getLock('a');
      await lock.lock();
      expect((await read(base)).status).to.equal(200);
      begin(proxy);
      for (const answer of await Promise.all([read(base), unlock(base)])) {
        expect([answer.status, answer.headers['retry-after']]).to.deep.equal([503, '5']);
        expect(errorOf(answer)).to.match(/Redis|connection|answer/i);
      }
      expect(entries).to.deep.equal([]);
      expect(await lock.isLocked()).to.equal(true);
      await proxy.pass();
      await sleepUntil(async () => (await read(base)).status === 200, { timeout: 20_000, message: 'it recovers' });
      const { status, text } = await unlock(base);
      expect([status, JSON.parse(text)]).to.deep.equal([200, { name: 'a', released: true }]);
      expect(entries).to.have.lengthOf(1);
    });
  }

  it('api/lock and api/unlock say which command Redis denies', async () => {
    const admin = trackClient(new Redis(server.url));
    const holder = trackClient(Redisson.create(server.url));
    await holder.getLock('a').lock();
    // May look, and may not write.
    await admin.acl('SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@all', '-@write');
    const url = new URL(server.url);
    Object.assign(url, { username: 'reader', password: 'pw' });
    const base = await start(url.href);
    expect((await read(base)).status).to.equal(200);
    const refused = await unlock(base);
    expect(refused.status).to.equal(502);
    // Its words differ between the versions of Redis.
    expect(errorOf(refused)).to.match(/permission|NOPERM|can't run this command/);
    expect(refused.text).not.to.contain('pw');
    expect(entries.map(({ released, error }) => [released, typeof error])).to.deep.equal([[undefined, 'string']]);
    expect(await holder.getLock('a').isLocked()).to.equal(true);
    await admin.acl('SETUSER', 'reader', '-@all');
    const denied = await read(base);
    expect(denied.status).to.equal(502);
    expect(errorOf(denied)).to.match(/permission|NOPERM/);
  });
});
