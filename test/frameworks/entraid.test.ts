import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redisson, type StreamingCredentialsProvider } from '../../lib';
import { npm } from '../../tools/installFolder';
import { RedisServer, skip, sleep, sleepUntil, trackClient, uniqueName } from '../support';

/** How long a token of the fake Azure is valid, in ms. */
const LIFETIME_MS = 3_000;
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
    // A token as Azure issues them: its object id is the user. Redis takes each from the start until it expires.
    const tokens = Array.from({ length: 100 }, (_, number) => {
      const claims = Buffer.from(JSON.stringify({ oid: 'app', number })).toString('base64url');
      return `head.${claims}.signature`;
    });
    await admin.call('ACL', 'SETUSER', 'app', 'on', ...tokens.map((token) => `>${token}`), '~*', '&*', '+@all');
    let issued = 0;
    let expired = 0;
    // It answers without waiting: `@redis/entraid` leaves an unhandled rejection when its subscription is disposed of
    // while it waits for a token.
    const timers: NodeJS.Timeout[] = [];
    const getToken = (): Promise<{ token: string; expiresOnTimestamp: number }> => {
      const token = tokens[issued++]!;
      const expire = async (): Promise<void> => {
        await admin.call('ACL', 'SETUSER', 'app', `<${token}`);
        expired++;
      };
      timers.push(setTimeout(() => void expire(), LIFETIME_MS));
      return Promise.resolve({ token, expiresOnTimestamp: Date.now() + LIFETIME_MS });
    };
    const refused: string[] = [];
    const credentials = entraid.EntraIdCredentialsProviderFactory.createForDefaultAzureCredential({
      credential: { getToken },
      scopes: 'https://redis.azure.com/.default',
      tokenManagerConfig: { expirationRefreshRatio: 0.1 },
      onReAuthenticationError: (error: Error) => void refused.push(error.message),
    });
    const client = trackClient(Redisson.create({ url: `redis://${server.host}:${server.port}`, credentials }));
    const hold = await client.getLock(uniqueName()).acquire();
    const logins = async (): Promise<number> =>
      Number(/cmdstat_auth:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1]);
    const atFirst = await logins();
    await sleepUntil(() => issued >= 5 && expired >= 1);
    await sleepUntil(async () => (await logins()) >= atFirst + 5);
    await admin.client('KILL', 'USER', 'app');
    await client.ping();
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
    expect(refused).to.deep.equal([]);
    await client.shutdown();
    const before = issued;
    await sleep(1_000);
    expect(issued).to.equal(before);
    timers.forEach(clearTimeout);
  });
});
