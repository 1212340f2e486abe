import { expect } from 'chai';
import { Redis } from 'ioredis';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import { type ConnectionChange, ConnectionError, Redisson, ShutdownError } from '../../../lib';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

describe('the life of a client', function () {
  this.timeout(30_000);

  async function errorOf(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  it('state, onConnectionChange and ping', async () => {
    const server = trackClient(await RedisServer.start());
    const client = trackClient(Redisson.create({ url: server.url, timeout: 300, retryAttempts: 0 }));
    const changes: ConnectionChange[] = [];
    const removed: ConnectionChange[] = [];
    client.onConnectionChange((change) => changes.push(change));
    client.onConnectionChange((change) => removed.push(change))();
    expect(client.state).to.equal('connecting');
    expect(await client.ping()).to.be.within(0, 5_000);
    expect(client.state).to.equal('ready');
    await server.kill();
    await sleepUntil(() => client.state === 'reconnecting');
    expect(await errorOf(client.ping())).to.be.instanceOf(ConnectionError);
    await server.restart();
    await sleepUntil(() => client.state === 'ready');
    await client.shutdown();
    expect(client.state).to.equal('closed');
    expect(changes.map(({ state }) => state)).to.deep.equal(['ready', 'reconnecting', 'ready', 'closed']);
    expect(removed).to.deep.equal([]);
    expect(await errorOf(client.ping())).to.be.instanceOf(ShutdownError);
    expect(() => client.onConnectionChange(5 as never)).to.throw(TypeError);
  });

  it('connections are named after the client, the host and the process, or as was asked for', async () => {
    const server = trackClient(await RedisServer.start());
    const admin = trackClient(new Redis(server.url));
    const client = trackClient(Redisson.create(server.url));
    const own = trackClient(Redisson.create({ client: trackClient(new Redis(server.url, { lazyConnect: true })) }));
    const named = trackClient(Redisson.create({ url: server.url, clientName: 'mine' }));
    for (const one of [client, own, named]) await one.ping();
    const nameOf = (one: Redisson): string => `name=ioredisson:${one.getId()}:${hostname()}:${process.pid} `;
    const count = (list: string, text: string): number => list.split(text).length - 1;
    await sleepUntil(async () => {
      const list = String(await admin.client('LIST'));
      return [nameOf(client), nameOf(own), 'name=mine '].every((name) => count(list, name) === 2);
    });
  });

  it('a logger is told, once, that a server has not been reached for 5 s, and why', async () => {
    const lines: string[] = [];
    const none = (): void => undefined;
    const logger = { debug: none, info: none, warn: none, error: (_: object, message: string) => lines.push(message) };
    const server = trackClient(await RedisServer.start());
    const { url } = server;
    await server.kill();
    const client = trackClient(Redisson.create({ url, logger }));
    await sleepUntil(() => lines.length > 0, { timeout: 8_000 });
    expect(lines[0]).to.match(/^Redis could not be reached for 5 s: .*ECONNREFUSED/);
    await server.restart();
    await client.ping();
    expect(lines).to.have.lengthOf(1);
  });

  it('a logger is told of the connection, refusals, lost locks and renewals that fail, and of no secret', async () => {
    const server = trackClient(await RedisServer.start({ password: 'geheim' }));
    const lines: [level: string, fields: object, message: string][] = [];
    const write =
      (level: string) =>
      (fields: object, message: string): void => {
        lines.push([level, fields, message]);
        throw new Error('a broken logger');
      };
    const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const told = (level: string, message: RegExp): boolean =>
      lines.some(([at, , text]) => at === level && message.test(text));
    const settings = { logger, lockWatchdogTimeout: 600, timeout: 300, retryAttempts: 0 };
    const client = trackClient(Redisson.create({ url: server.url, ...settings }));
    await client.getLock(uniqueName()).lock();
    await server.kill();
    await sleepUntil(() => told('error', /is lost: its lease ran out/));
    expect(told('info', /connection is ready/) && told('warn', /connection is reconnecting/)).to.equal(true);
    expect(told('warn', /could not be renewed/)).to.equal(true);
    await server.restart();
    const wrong = trackClient(Redisson.create({ url: server.url.replace('geheim', 'geheim-falsch'), ...settings }));
    await errorOf(wrong.ping());
    expect(told('error', /refuses the connection: WRONGPASS/)).to.equal(true);
    expect(inspect(lines, { depth: Infinity, showHidden: true })).to.not.contain('geheim');
    expect(() => Redisson.create({ logger: {} as never })).to.throw(/logger must be an object with debug/);
  });
});
