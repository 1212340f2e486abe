// Each check is shown a server that is wrong in that way.
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { examine, type CheckName, type Finding, type FindingStatus } from '../../../lib/operators/doctor';
import { BASE_RIGHTS, KIND_RIGHTS } from '../../../lib/operators/doctor/rights';
import type { RedissonOptions } from '../../../lib/config/RedissonOptions';
import { Config } from '../../../lib';
import {
  freePort,
  RedisCluster,
  RedisServer,
  ReplicatedRedis,
  skip,
  TcpProxy,
  tlsFiles,
  trackClient,
} from '../../support';
import { rulesOf } from '../../support/securityPage';

const SECRET = 'do-not-show-this';

describe('the doctor', function () {
  this.timeout(60_000);

  let server: RedisServer;
  let admin: Redis;

  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server.stop());

  beforeEach(() => {
    admin = trackClient(new Redis(server.url));
  });

  /** Changes a setting of the server for this test. */
  async function set(name: string, value: string): Promise<void> {
    const [, before] = (await admin.call('config', 'GET', name)) as [string, string];
    await admin.config('SET', name, value);
    const other = new Redis(server.url);
    trackClient({
      stop: async () => {
        await other.config('SET', name, before);
        other.disconnect();
      },
    });
  }

  /** What it says of one check. */
  async function look(
    check: CheckName,
    config: string | RedissonOptions = server.url,
    name?: string,
  ): Promise<Finding> {
    const findings = await examine(config, name);
    expect(JSON.stringify(findings)).not.to.contain(SECRET);
    return findings.find((finding) => finding.check === check)!;
  }

  async function user(...rules: string[]): Promise<string> {
    await admin.call('acl', 'setuser', 'service', 'reset', 'on', `>${SECRET}`, ...rules);
    return `redis://service:${SECRET}@127.0.0.1:${server.port}`;
  }

  it('finds nothing wrong with a server that is set up for locks', async () => {
    await set('appendonly', 'yes');
    const findings = await examine(server.url);
    // How fast it is depends on the machine.
    expect(findings.filter(({ check, status }) => status !== 'ok' && check !== 'reachable')).to.deep.equal([]);
    expect(findings.map(({ check }) => check)).to.deep.equal([
      ...['reachable', 'lock', 'version', 'memory', 'persistence', 'replicas'],
      ...['pubsub', 'rights', 'clock', 'buffers', 'timeouts', 'provider'],
    ]);
    for (const { why } of findings) expect(why).not.to.equal('');
  });

  const wrong: readonly [check: CheckName, setting: string, value: string, status: FindingStatus, says: RegExp][] = [
    ['memory', 'maxmemory-policy', 'allkeys-lru', 'error', /allkeys-lru/],
    ['memory', 'maxmemory-policy', 'volatile-ttl', 'error', /volatile-ttl/],
    ['memory', 'maxmemory', '1000', 'error', /% of maxmemory 1000 /],
    ['persistence', 'appendonly', 'no', 'warning', /appendonly no/],
    ['persistence', 'save', '', 'warning', /a restart loses all locks/],
    ['buffers', 'client-output-buffer-limit', 'pubsub 0 0 0', 'warning', /pubsub 0 0 0: no limit/],
    ['buffers', 'client-output-buffer-limit', 'pubsub 4096 1024 60', 'warning', /cut off early/],
    ['timeouts', 'timeout', '20', 'warning', /server: timeout 20 s/],
    ['timeouts', 'tcp-keepalive', '0', 'warning', /tcp-keepalive 0 s/],
  ];
  for (const [check, setting, value, status, says] of wrong) {
    it(`${check}: ${setting} ${value || "''"} is a ${status}, with what to do`, async () => {
      await set(setting, value);
      const finding = await look(check);
      expect(finding).to.include({ check, status, server: '-' });
      expect(finding.found).to.match(says);
      expect(finding.advice).not.to.equal('');
    });
  }

  it('persistence: appendfsync no is a warning', async () => {
    await set('appendonly', 'yes');
    await set('appendfsync', 'no');
    expect(await look('persistence')).to.include({ status: 'warning', found: 'appendonly yes, appendfsync no' });
  });

  const clients: readonly [settings: RedissonOptions, status: FindingStatus, says: RegExp][] = [
    [{ timeout: 5_000, lockWatchdogTimeout: 5_000 }, 'error', /timeout 5000 ms/],
    [{ timeout: 5_000, lockWatchdogTimeout: 12_000 }, 'warning', /timeout 5000 ms/],
    [{ connectTimeout: 40_000 }, 'warning', /connectTimeout 40000 ms/],
  ];
  for (const [settings, status, says] of clients) {
    it(`timeouts: ${JSON.stringify(settings)} is a ${status}`, async () => {
      const finding = await look('timeouts', { url: server.url, ...settings });
      expect(finding.status).to.equal(status);
      expect(finding.found).to.match(says);
    });
  }

  it('clock: a server whose clock is elsewhere', async () => {
    const real = Date.now.bind(Date);
    for (const [ms, status] of [
      [-1_500, 'warning'],
      [60_000, 'error'],
    ] as const) {
      Date.now = () => real() + ms;
      try {
        expect(await look('clock')).to.include({ status });
      } finally {
        Date.now = real;
      }
    }
  });

  describe('a server that is', () => {
    it('down: says so, and that the rest was not checked', async () => {
      const findings = await examine({
        url: `redis://:${SECRET}@127.0.0.1:${await freePort()}`,
        timeout: 200,
        retryAttempts: 0,
      });
      expect(findings[0]).to.include({ check: 'reachable', status: 'error' });
      expect(findings[0]!.why).to.match(/no lock can be acquired, and held locks are lost/);
      expect(new Set(findings.slice(1).map(({ status }) => status))).to.deep.equal(new Set(['unknown']));
      expect(JSON.stringify(findings)).not.to.contain(SECRET);
    });

    it('closed to the user: says so', async () => {
      const url = await user(...rulesOf('connection'));
      const findings = await examine(url.replace(SECRET, `${SECRET}-wrong`));
      expect(findings[0]!.found).to.match(/WRONGPASS/);
      expect(JSON.stringify(findings)).not.to.contain(SECRET);
    });

    it('silent: says that it does not answer', async () => {
      const proxy = trackClient(await TcpProxy.start(server.url));
      proxy.blackhole('down');
      const findings = await examine({ url: proxy.url, timeout: 200, retryAttempts: 0 });
      expect(findings[0]).to.include({ check: 'reachable', status: 'error' });
      expect(findings[1]!.found).to.match(/not checked/);
    });

    it('slow: says how slow, and goes on', async () => {
      const proxy = trackClient(await TcpProxy.start(server.url));
      proxy.delay(80);
      const findings = await examine(proxy.url);
      expect(findings[0]).to.include({ check: 'reachable', status: 'warning' });
      expect(findings.find(({ check }) => check === 'version')!.status).to.equal('ok');
      expect(findings.find(({ check }) => check === 'clock')!.status).to.equal('ok');
    });
  });

  describe('D5: tries a lock:', () => {
    const of = (findings: readonly Finding[], check: CheckName): Finding =>
      findings.find((finding) => finding.check === check)!;

    it('takes one and gives it back, and leaves nothing', async () => {
      const before = await admin.dbsize();
      expect(of(await examine(server.url), 'lock')).to.include({ status: 'ok' });
      expect(await admin.dbsize()).to.equal(before);
      const url = await user(...rulesOf('connection'), ...rulesOf('lock'));
      expect(of(await examine(url, 'app:x'), 'lock')).to.include({ status: 'ok' });
      expect(of(await examine(url), 'lock')).to.include({ status: 'unknown' });
    });

    it('min-replicas-to-write 1 on a lone server: every lock is refused; one advice for both checks', async () => {
      await set('min-replicas-to-write', '1');
      const findings = await examine(server.url);
      expect(of(findings, 'lock')).to.include({ status: 'error' });
      expect(of(findings, 'lock').found).to.match(/every lock is refused: NOREPLICAS/);
      expect(of(findings, 'replicas')).to.include({
        ...{ status: 'error', advice: of(findings, 'lock').advice },
        found: '0 replicas, 0 of them good, min-replicas-to-write 1',
      });
    });

    it('a full server, and a replica: says what it answers, and what to do', async () => {
      await set('maxmemory', '1000');
      expect(of(await examine(server.url), 'lock').found).to.match(/every lock is refused: OOM/);
    });

    it('a frozen replica: no lock is confirmed', async () => {
      const both = trackClient(await ReplicatedRedis.start());
      const config = new Config();
      config.useMasterSlaveServers().setMasterAddress(both.master.url).addSlaveAddress(both.replicas[0]!.url);
      expect(of(await examine(config), 'lock')).to.include({ status: 'ok' });
      both.replicas[0]!.pause();
      try {
        const finding = of(await examine(config), 'lock');
        expect(finding).to.include({ status: 'error' });
        expect(finding.found).to.contain('no replica confirmed it');
        expect(finding.advice).to.contain('missing or frozen');
      } finally {
        both.replicas[0]!.resume();
      }
    });

    describe('a cluster', () => {
      let cluster: RedisCluster;
      let config: Config;

      beforeEach(async () => {
        cluster = trackClient(await RedisCluster.start());
        config = new Config();
        config.useClusterServers().addNodeAddress(...cluster.urls);
      });

      it('a lock on each master', async () => {
        const locks = (await examine(config)).filter(({ check }) => check === 'lock');
        expect(locks.map(({ status }) => status)).to.deep.equal(['ok', 'ok', 'ok']);
        expect(new Set(locks.map(({ server: one }) => one)).size).to.equal(3);
      });

      it('a frozen node is named, and the others are not blamed', async () => {
        const frozen = cluster.nodes[1]!;
        frozen.pause();
        try {
          const findings = await examine(config);
          const bad = findings.filter(({ check, status }) => check === 'reachable' && status === 'error');
          expect(bad.map(({ server: one }) => one)).to.deep.equal([`127.0.0.1:${frozen.port}`]);
          const others = findings.filter(({ server: one }) => one !== `127.0.0.1:${frozen.port}`);
          expect(others.filter(({ check }) => check === 'rights').map(({ status }) => status)).to.deep.equal([
            'ok',
            'ok',
          ]);
          // They answer, also when they know by then that the cluster is down.
          for (const { check, status, found } of others) {
            if (check !== 'lock') expect(status, found).not.to.equal('error');
          }
        } finally {
          frozen.resume();
        }
      });

      it('all slots down: says what the nodes answer, not that none does', async () => {
        for (const node of cluster.nodes) {
          const redis = trackClient(new Redis(node.url));
          await redis.flushall();
          await redis.call('cluster', 'FLUSHSLOTS');
        }
        const findings = await examine(config);
        expect(findings.filter(({ check, status }) => check === 'reachable' && status === 'error')).to.deep.equal([]);
        const locks = findings.filter(({ check }) => check === 'lock');
        expect(locks).to.have.lengthOf(3);
        for (const { status, found } of locks) {
          expect(status).to.equal('error');
          expect(found).to.match(/CLUSTERDOWN/);
        }
      });
    });
  });

  it('D13: TLS on one side only is said, in both directions', async function () {
    const files = tlsFiles();
    if (files === undefined) return skip(this, 'there is no openssl to make a certificate');
    const secure = trackClient(await RedisServer.start({ tls: files }));
    const quick = { timeout: 500, connectTimeout: 1_000, retryAttempts: 0 };
    const [plain] = await examine({ url: `redis://127.0.0.1:${secure.port}`, ...quick });
    expect(plain).to.include({ status: 'error', advice: 'the server speaks TLS: use rediss:// instead of redis://' });
    const [over] = await examine({ url: `rediss://127.0.0.1:${server.port}`, ...quick });
    expect(over).to.include({
      ...{ status: 'error', advice: 'the server does not speak TLS: use redis:// instead of rediss://' },
    });
  });

  describe('rights:', () => {
    const asking = ['+acl|whoami', '+acl|dryrun', '+config|get', '+time'];

    it('what every client needs is that of docs/security.md', () => {
      for (const [block, commands] of Object.entries(BASE_RIGHTS)) {
        expect(rulesOf(block), block).to.have.members(commands.split(' ').map((command) => `+${command}`));
      }
    });

    it('a user with the rules of one kind: tells what the others need', async () => {
      const url = await user(...rulesOf('connection'), ...asking, ...rulesOf('lock'));
      const { status, found } = await look('rights', url, 'app:x');
      expect(status).to.equal('warning');
      expect(found).to.contain('fair (+hkeys').and.to.contain('~redisson_lock_queue:{app:x}');
      expect(found).not.to.match(/[ ,]lock \(/);
    });

    it('a user with all rules, for a name that fits and for one that does not', async () => {
      const url = await user(...rulesOf('connection'), ...asking, ...Object.keys(KIND_RIGHTS).flatMap(rulesOf));
      expect(await look('rights', url, 'app:x')).to.include({ status: 'ok' });
      expect(await look('rights', url, 'other:x')).to.include({ status: 'error' });
      expect((await look('rights', url)).found).to.contain('keys and channels are limited to patterns');
    });

    for (const rule of ['+subscribe', '+publish', '+evalsha', '+pexpire']) {
      it(`${rule} is missed`, async () => {
        const rules = [...rulesOf('connection'), ...asking, '~*', '&*', ...Object.keys(KIND_RIGHTS).flatMap(rulesOf)];
        const url = await user(
          ...rules.filter((one) => one !== rule && !one.startsWith('~app') && !/^[~&](redisson|\{)/.test(one)),
        );
        const { status, found } = await look('rights', url);
        expect(status).to.be.oneOf(['warning', 'error']);
        expect(found).to.contain(rule);
      });
    }

    // With ACL DRYRUN and without: the lock that is tried tells it, whatever else can be asked.
    for (const rules of [
      ['-eval', '-evalsha'],
      ['-eval', '-evalsha', '-acl'],
      ['-hset', '-hincrby', '-acl'],
    ]) {
      it(`without a command that every lock needs, every lock is refused: ${rules.join(' ')}`, async () => {
        const url = await user('~*', '&*', '+@all', ...rules);
        for (const name of [undefined, 'app:x']) {
          const { status, found, advice } = await look('lock', url, name);
          expect(status, found).to.equal('error');
          expect(found).to.match(/^every lock is refused: /);
          expect(advice).to.contain('docs/security.md');
        }
      });
    }

    it('keys that the user may not use are no error of the lock: its own may be among those that it may', async () => {
      const url = await user('~app:*', '&*', '+@all');
      expect(await look('lock', url)).to.include({ status: 'unknown' });
      expect(await look('lock', url, 'app:x')).to.include({ status: 'ok' });
    });

    it('what locks work without is a warning that says what it costs', async () => {
      const url = await user('~*', '&*', '+@all', '-client|setname', '-info');
      const { status, found } = await look('rights', url);
      expect({ status, found }).to.deep.equal({
        status: 'warning',
        found:
          'locks work, but the user lacks +info (the client cannot tell that a server is still loading its data, or ' +
          'that it was replaced); +client|setname (its connections have no names: an inspector cannot tell which ' +
          'process holds a lock)',
      });
    });

    it('what only this user may not do is told with what it costs, and nothing to be warned of', async () => {
      const url = await user('~*', '&*', '+@all', '-client|list', '-pubsub');
      const { status, found } = await look('provider', url);
      expect(status).to.equal('ok');
      expect(found).to.match(
        /^refuses no command that locks use; this user may not PUBSUB NUMSUB \(.*\); CLIENT LIST \(/,
      );
    });

    it('a user that may ask nothing: says what could not be checked, and goes on', async () => {
      const url = await user(...rulesOf('connection'), ...rulesOf('lock'));
      const findings = await examine(url);
      expect(JSON.stringify(findings)).not.to.contain(SECRET);
      const states = Object.fromEntries(findings.map(({ check, status }) => [check, status]));
      expect(states).to.include({ reachable: 'ok', version: 'ok', memory: 'ok', replicas: 'ok' });
      expect(states).to.include({ rights: 'unknown', clock: 'unknown', buffers: 'unknown', timeouts: 'unknown' });
      for (const { status, found } of findings) if (status === 'unknown') expect(found).not.to.equal('');
    });

    it('a user without INFO: says so, and goes on', async () => {
      const url = await user('~*', '&*', '+@all', '-info');
      const findings = await examine(url);
      expect(findings.find(({ check }) => check === 'version')).to.include({ status: 'unknown' });
      expect(findings.find(({ check }) => check === 'memory')).to.include({ status: 'ok' });
    });
  });
});
