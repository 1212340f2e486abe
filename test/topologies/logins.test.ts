// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { Config, ConnectionError, Redisson } from '../../lib';
import { RedisServer, trackClient, uniqueName } from '../support';
import { failure, SOON_MS, within } from './helpers';

const PASSWORD = 'geheim-innen';
const OUTSIDE = 'geheim-aussen';

describe('logins of deployments', function () {
  this.timeout(60_000);

  async function startMaster(): Promise<RedisServer> {
    return trackClient(await RedisServer.start({ password: PASSWORD }));
  }

  async function startSentinel(master: RedisServer, password: string): Promise<RedisServer> {
    const config = [
      `sentinel monitor mymaster ${master.host} ${master.port} 1`,
      `sentinel auth-pass mymaster ${PASSWORD}`,
    ];
    return trackClient(await RedisServer.start({ args: ['--sentinel'], config, password }));
  }

  async function locks(config: Config): Promise<void> {
    const one = trackClient(Redisson.create(config));
    const lock = one.getLock(uniqueName());
    await within(SOON_MS, lock.lock());
    await lock.unlock();
  }

  it('B6: sentinels that have the password of the servers get it when they ask for it', async () => {
    const master = await startMaster();
    const sentinels = [await startSentinel(master, PASSWORD), await startSentinel(master, PASSWORD)];
    for (const some of [sentinels.slice(0, 1), sentinels]) {
      const config = new Config();
      const servers = config.useSentinelServers().setMasterName('mymaster').setPassword(PASSWORD);
      for (const { host, port } of some) servers.addSentinelAddress(`redis://${host}:${port}`);
      await locks(config);
    }
  });

  it('B6: a password in the address of a sentinel is for the sentinel, and not for the master', async () => {
    const master = await startMaster();
    const { host, port } = await startSentinel(master, OUTSIDE);
    const config = new Config();
    const servers = config.useSentinelServers().setMasterName('mymaster').setPassword(PASSWORD);
    servers.addSentinelAddress(`redis://:${OUTSIDE}@${host}:${port}`);
    await locks(config);
  });

  it('B2: a sentinel that takes no password of ours is told, and shows none', async () => {
    const master = await startMaster();
    const { host, port } = await startSentinel(master, 'another');
    const config = new Config();
    const servers = config.useSentinelServers().setMasterName('mymaster').setPassword(PASSWORD);
    servers.addSentinelAddress(`redis://:${OUTSIDE}@${host}:${port}`);
    const error = await within(SOON_MS, failure(trackClient(Redisson.create(config)).getLock(uniqueName()).lock()));
    expect(error).to.be.instanceOf(ConnectionError);
    expect(error.message).to.match(/refuses the connection.*(WRONGPASS|NOAUTH)/);
    expect(inspect(error, { depth: null, showHidden: true })).to.not.match(/geheim/);
  });

  for (const kind of ['sentinel', 'master/slave', 'replicated'] as const) {
    it(`B1: ${kind}: SELECT refused is a refusal of the connection`, async () => {
      const master = await startMaster();
      const admin = trackClient(new Redis(master.url));
      await admin.call('ACL', 'SETUSER', 'ann', 'on', `>${PASSWORD}`, '~*', '&*', '+@all', '-select');
      const address = `redis://${master.host}:${master.port}`;
      const config = new Config();
      const servers =
        kind === 'sentinel'
          ? config.useSentinelServers().setMasterName('mymaster')
          : kind === 'replicated'
            ? config.useReplicatedServers().addNodeAddress(address)
            : config.useMasterSlaveServers().setMasterAddress(address);
      servers.setUsername('ann').setPassword(PASSWORD).setDatabase(2);
      if (kind === 'sentinel') {
        const { host, port } = await startSentinel(master, OUTSIDE);
        config.useSentinelServers().addSentinelAddress(`redis://:${OUTSIDE}@${host}:${port}`);
      }
      const client = trackClient(Redisson.create(config));
      const error = await within(SOON_MS, failure(client.getLock(uniqueName()).lock()));
      expect(error).to.be.instanceOf(ConnectionError);
      expect(error.message).to.match(/refuses the connection.*NOPERM.*select/);
      expect(await admin.dbsize()).to.equal(0);
    });
  }
});
