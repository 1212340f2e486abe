import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redisson, type StreamingCredentialsProvider } from '../../lib';
import { npm } from '../../tools/installFolder';
import { RedisServer, skip, sleep, sleepUntil, trackClient, uniqueName } from '../support';

const PLACE = path.join(__dirname, 'versions', 'entraid');

/** What the test needs of `@redis/entraid`. */
interface Entraid {
  readonly EntraIdCredentialsProviderFactory: {
    createForDefaultAzureCredential(options: object): StreamingCredentialsProvider;
  };
}

describe('@redis/entraid as credentials (D1)', function () {
  this.timeout(120_000);
  let entraid: Entraid;

  before(function () {
    const folder = path.join(PLACE, 'node_modules', '@redis', 'entraid');
    if (!fs.existsSync(folder)) {
      npm(PLACE, ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']);
    }
    if (!fs.existsSync(folder)) skip(this, 'no registry to install @redis/entraid from');
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    entraid = require(folder) as Entraid;
  });

  it('its provider logs in, renews live connections as its tokens change, and is at rest after shutdown', async () => {
    const server = trackClient(await RedisServer.start({ password: 'admin' }));
    const admin = trackClient(new Redis(server.url));
    let issued = 0;
    let refused = 0;
    /** A token as Azure issues them: its object id is the user. Redis takes only the newest. */
    const getToken = async (): Promise<{ token: string; expiresOnTimestamp: number }> => {
      const claims = Buffer.from(JSON.stringify({ oid: 'app', number: ++issued })).toString('base64url');
      const token = `head.${claims}.signature`;
      await admin.call('ACL', 'SETUSER', 'app', 'on', 'resetpass', `>${token}`, '~*', '&*', '+@all');
      return { token, expiresOnTimestamp: Date.now() + 600 };
    };
    const credentials = entraid.EntraIdCredentialsProviderFactory.createForDefaultAzureCredential({
      credential: { getToken },
      scopes: 'https://redis.azure.com/.default',
      tokenManagerConfig: { expirationRefreshRatio: 0.5 },
      onReAuthenticationError: () => refused++,
    });
    const client = trackClient(Redisson.create({ url: `redis://${server.host}:${server.port}`, credentials }));
    const hold = await client.getLock(uniqueName()).acquire();
    await sleepUntil(() => issued >= 5);
    await admin.client('KILL', 'USER', 'app');
    await client.ping();
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
    expect(refused).to.equal(0);
    await client.shutdown();
    const before = issued;
    await sleep(1_000);
    expect(issued).to.equal(before);
  });
});
