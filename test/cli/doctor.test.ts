import { expect } from 'chai';
import type { Finding } from '../../lib/operators/doctor';
import { ensureBuilt } from '../../tools/buildOutput';
import { freePort, RedisServer, trackClient } from '../support';
import { cli, TIMEOUT_MS } from './support/CliProcess';
import { observer } from './support/world';

describe('doctor', function () {
  this.timeout(3 * TIMEOUT_MS);

  before(() => ensureBuilt());

  it('a line for each check, why it matters and what to do; exits 2 for errors, 1 for warnings', async () => {
    const server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const env = { REDIS_URL: server.url };
    const wrong = await cli(['doctor'], { env });
    expect(wrong).to.include({ code: 2, stderr: '' });
    expect(wrong.stdout).to.match(
      /^ERROR +memory +maxmemory-policy allkeys-lru.*\n +why: .+\n +do: +set maxmemory-policy/m,
    );
    expect(wrong.stdout).to.match(/^ok +version +Redis|Valkey/m);
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    const better = await cli(['doctor', '--json', 'a'], { env });
    // It has no append-only file.
    expect(better).to.include({ code: 1, stderr: '' });
    const [first] = JSON.parse(better.stdout) as Finding[];
    expect(Object.keys(first!)).to.deep.equal(['check', 'status', 'server', 'found', 'why', 'advice']);
  });

  it('Redis down: exits 2, and shows no password', async () => {
    const url = `redis://user:do-not-show@127.0.0.1:${await freePort()}`;
    const end = await cli(['doctor'], { env: { REDIS_URL: url } });
    expect(end.code).to.equal(2);
    expect(end.stdout).to.match(/^ERROR +reachable/m);
    // What to do is said once.
    expect(end.stdout).to.match(/^UNKNOWN lock, version, .*provider: not checked/m);
    expect(end.stdout.split('\n').length).to.be.at.most(6);
    expect(end.stdout.match(/ do: /g)).to.have.lengthOf(1);
    expect(end.stdout + end.stderr).not.to.contain('do-not-show');
  });
});
