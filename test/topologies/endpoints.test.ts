import { expect } from 'chai';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import { Config, Redisson } from '../../lib';
import { Inspector } from '../../lib/operators/inspection';
import { redisUrl, RedisServer, skip, sleep, sleepUntil, tlsFiles, trackClient, uniqueName } from '../support';
import { askServer } from '../support/clusterTools';
import { FakeProvider } from '../support/FakeProvider';
import { FakeResolver } from '../support/FakeResolver';
import { PROVIDERS, type ProviderProfile } from '../support/providers';

const NAME = 'locks.test.invalid';
/** A waiter that is told wakes within this, in ms; one that sleeps on sleeps for its lease. */
const WOKEN_MS = 8_000;
const LEASE = { leaseTime: 60_000 };

/** An address of a name: what connects there is led to a server. */
class Address {
  readonly #sockets = new Set<net.Socket>();
  readonly #listener: net.Server;
  target: RedisServer;

  constructor(target: RedisServer) {
    this.target = target;
    this.#listener = net.createServer((client) => {
      const server = net.connect(this.target.port, this.target.host);
      this.#sockets.add(client);
      client.pipe(server).pipe(client);
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        one.on('error', () => undefined);
        one.on('close', () => (this.#sockets.delete(client), other.destroy()));
      }
    });
  }

  async listen(host: string, port = 0): Promise<number> {
    this.#listener.listen(port, host);
    await once(this.#listener, 'listening');
    return (this.#listener.address() as net.AddressInfo).port;
  }

  /** The first connections end: those that are open now. */
  cut(count: number): void {
    for (const socket of [...this.#sockets].slice(0, count)) socket.destroy();
  }

  get connections(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    this.cut(Infinity);
    this.#listener.close();
    await once(this.#listener, 'close');
  }
}

describe('endpoints', function () {
  this.timeout(60_000);
  let resolver: FakeResolver;

  beforeEach(() => {
    resolver = new FakeResolver();
  });

  async function addresses(): Promise<{ one: Address; other: Address; servers: RedisServer[]; port: number }> {
    const servers = [trackClient(await RedisServer.start()), trackClient(await RedisServer.start())];
    const [one, other] = servers.map((server) => trackClient(new Address(server))) as [Address, Address];
    const port = await one.listen('127.0.0.2');
    await other.listen('127.0.0.3', port);
    return { one, other, servers, port };
  }

  it('of several addresses of a name the one is used that answers', async () => {
    const { one, other, port } = await addresses();
    await one.stop();
    // Nobody listens at the first.
    resolver.set(NAME, '127.0.0.2', '127.0.0.3');
    const client = trackClient(Redisson.create(`redis://${NAME}:${port}`));
    await client.getLock(uniqueName()).withLock(() => undefined);
    expect(other.connections).to.be.greaterThan(0);
  });

  it('a cluster is found by a name with several addresses, of which the first is dead', async () => {
    const provider = trackClient(await FakeProvider.start(PROVIDERS[0]!, redisUrl()));
    resolver.set(NAME, '127.0.0.9', '127.0.0.1');
    const config = new Config();
    config.useClusterServers().addNodeAddress(`redis://${NAME}:${provider.port}`);
    const client = trackClient(Redisson.create(config));
    await client.getLock(uniqueName()).withLock(() => undefined);
  });

  it('a name that has moved is looked up anew, by the connection that listens, too, although its old one lives', async () => {
    const { one, other, servers, port } = await addresses();
    resolver.set(NAME, '127.0.0.2');
    const create = (): Redisson => trackClient(Redisson.create(`redis://${NAME}:${port}`));
    const [client, rival] = [create(), create()];
    const name = uniqueName();
    // Somebody waits all along, so that both connections of the waiting client are in use.
    const guard = uniqueName();
    await rival.getLock(guard).acquire(LEASE);
    const guarded = client.getLock(guard).acquire(LEASE);
    await sleepUntil(() => askServer(servers[0]!, async (redis) => (await redis.pubsub('CHANNELS')).length > 0));
    resolver.set(NAME, '127.0.0.3');
    // The former server goes on, and so do connections that listen there. Those for commands end.
    await askServer(servers[0]!, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await sleepUntil(() => other.connections >= 2);
    const held = await rival.getLock(name).acquire(LEASE);
    let inside = false;
    const startedAt = performance.now();
    const waiting = client
      .getLock(name)
      .acquire({ ...LEASE, waitTime: 20_000 })
      .then((hold) => {
        inside = true;
        return hold;
      });
    expect(await client.getLock(uniqueName()).isLocked()).to.equal(false);
    expect(inside).to.equal(false);
    await held.unlock();
    await (await waiting).unlock();
    expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
    // The new server knows nothing of that lock.
    await (await guarded).unlock();
    await sleepUntil(() => one.connections === 0);
  });

  it('SCAN cursors above 2^63 go back as they came: the inspector lists every lock', async () => {
    const profile: ProviderProfile = PROVIDERS.find(({ hugeCursors }) => hugeCursors !== undefined)!;
    const server = trackClient(await RedisServer.start());
    const provider = trackClient(await FakeProvider.start(profile, server.url));
    const config = new Config();
    config.useClusterServers().addNodeAddress(provider.url);
    const client = trackClient(Redisson.create(config));
    const count = 2_500;
    await Promise.all(Array.from({ length: count }, (_, i) => client.getLock(`lock:${i}`).acquire(LEASE)));
    const inspector = new Inspector(client);
    expect(await inspector.list('lock:*')).to.have.length(count);
    await inspector.close();
    expect(provider.hugeCursors).to.be.greaterThan(0);
  });

  it('connections that a proxy forgets without a word are replaced: no call fails, and a waiter is woken', async () => {
    const idle = { ms: 2_000, evidence: { kind: 'guess' }, silently: true } as const;
    const profile: ProviderProfile = { name: 'forgetful', id: 'forgetful', refuses: {}, idle };
    const provider = trackClient(await FakeProvider.start(profile, redisUrl()));
    const client = trackClient(Redisson.create(provider.url));
    const other = trackClient(Redisson.create(redisUrl()));
    const name = uniqueName();
    const first = await other.getLock(name).acquire();
    const woken = client.getLock(name).acquire();
    await first.unlock();
    await (await woken).unlock();
    await sleep(11_000);
    expect(provider.idleCuts).to.equal(2);
    // The connection that sends commands.
    await (await client.getLock(uniqueName()).acquire()).unlock();
    // The one that listens.
    const hold = await other.getLock(name).acquire(LEASE);
    const waiting = client.getLock(name).acquire();
    const redis = trackClient(new Redis(redisUrl()));
    const channel = `redisson_lock__channel:{${name}}`;
    await sleepUntil(async () => Number((await redis.pubsub('NUMSUB', channel))[1]) > 0, { timeout: WOKEN_MS });
    await hold.unlock();
    const startedAt = performance.now();
    await (await waiting).unlock();
    expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
  });

  describe('TLS', () => {
    async function secure(names: string): Promise<{ provider: FakeProvider; config: Config } | undefined> {
      const files = tlsFiles(names);
      if (files === undefined) return undefined;
      const [cert, key] = [fs.readFileSync(files.cert, 'utf8'), fs.readFileSync(files.key, 'utf8')];
      const provider = trackClient(await FakeProvider.start(PROVIDERS[0]!, redisUrl(), { cert, key }));
      const config = new Config().setSslTruststore(`file:${files.ca}`);
      resolver.set(NAME, '127.0.0.1');
      return { provider, config };
    }

    it("nodes that a cluster calls by their addresses have certificates of its endpoint's name", async function () {
      const made = await secure(`DNS:${NAME}`);
      if (made === undefined) return skip(this, 'there is no openssl');
      const { provider, config } = made;
      config.useClusterServers().addNodeAddress(`rediss://${NAME}:${provider.port}`);
      const client = trackClient(Redisson.create(config));
      await client.getLock(uniqueName()).withLock(() => undefined);
    });

    it('or of their addresses', async function () {
      const made = await secure(`DNS:${NAME},IP:127.0.0.1`);
      const own = await secure('DNS:other.test.invalid,IP:127.0.0.1');
      if (made === undefined || own === undefined) return skip(this, 'there is no openssl');
      for (const { provider, config } of [made, own]) {
        config.useClusterServers().addNodeAddress(`rediss://127.0.0.1:${provider.port}`);
        const client = trackClient(Redisson.create(config));
        await client.getLock(uniqueName()).withLock(() => undefined);
      }
    });

    it('a certificate of another name is refused', async function () {
      const made = await secure('DNS:other.test.invalid');
      if (made === undefined) return skip(this, 'there is no openssl');
      const { provider, config } = made;
      config
        .useClusterServers()
        .addNodeAddress(`rediss://${NAME}:${provider.port}`)
        .setRetryAttempts(0)
        .setTimeout(1_000);
      const client = trackClient(Redisson.create(config));
      const error: unknown = await client.ping().catch((reason: unknown) => reason);
      expect((error as Error).message).to.match(/certificate|altnames/i);
    });
  });
});
