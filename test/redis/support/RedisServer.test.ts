import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redis } from 'ioredis';
import { allowLeftovers, monitor, redisUrl, RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

function connect(url: string): Redis {
  const client = trackClient(new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 10 }));
  client.on('error', () => undefined);
  return client;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Ended, but nobody has asked how: in a container without an init process that may last.
    return !fs.existsSync(`/proc/${pid}/stat`) || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('RedisServer', () => {
  it('starts on a free port without persistence, with a password', async () => {
    const server = trackClient(await RedisServer.start({ password: 'p@ss word', args: ['--maxmemory', '100mb'] }));
    const client = connect(server.url);
    expect(await client.config('GET', 'save')).to.deep.equal(['save', '']);
    expect(await client.config('GET', 'maxmemory')).to.deep.equal(['maxmemory', '104857600']);
    expect(server.port).not.to.equal(6379);
    // ioredis disconnects by itself when it is refused; our disconnect after it leaves its timer behind for two
    // seconds.
    allowLeftovers({ timers: true });
    const stranger = trackClient(new Redis(server.port));
    stranger.on('error', () => undefined);
    expect(await stranger.ping().catch(String)).to.match(/NOAUTH/);
  });

  it('comes back on the same port, empty', async () => {
    const server = trackClient(await RedisServer.start());
    const client = connect(server.url);
    const { port } = server;
    await client.set('key', 'value');
    await server.kill();
    expect(server.isRunning).to.equal(false);
    await server.restart();
    expect(server.port).to.equal(port);
    expect(await client.get('key')).to.equal(null);
  });

  it('can be paused and resumed, and stopped while paused', async () => {
    const server = trackClient(await RedisServer.start());
    const client = connect(server.url);
    await client.ping();
    server.pause();
    const first = await Promise.race([client.ping(), new Promise((resolve) => setTimeout(resolve, 50, 'silence'))]);
    expect(first).to.equal('silence');
    server.resume();
    expect(await client.ping()).to.equal('PONG');
    server.pause();
    client.disconnect();
    await server.stop();
    expect(server.isRunning).to.equal(false);
  });

  it('says why a server did not start', async () => {
    const error = await RedisServer.start({ args: ['--no-such-option', '1'], port: 1 }).catch(String);
    expect(error).to.match(/ended at its start/);
  });

  for (const end of ['SIGKILL', 'SIGINT', 'throw'] as const) {
    it(`dies with the process that started it: ${end}`, async () => {
      const register = path.join(__dirname, '..', '..', '..', 'tools', 'register.cjs');
      const child = spawn(process.execPath, ['-r', register, path.join(__dirname, 'serverOwner.ts'), end], {
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      expect(isAlive(pid)).to.equal(true);
      if (end === 'throw') child.stdin.end();
      else child.kill(end);
      await sleepUntil(() => !isAlive(pid), { message: 'the server outlived its owner' });
    }).timeout(20_000);
  }
});

describe('monitor', () => {
  it('tells what clients sent from what scripts did, and has it all', async () => {
    const client = connect(redisUrl());
    const name = uniqueName();
    await client.ping();
    const seen = trackClient(await monitor(redisUrl()));
    await client.eval("return redis.call('exists', KEYS[1])", 1, name);
    await client.get(name);
    expect(await seen.sentNames()).to.deep.equal(['eval', 'get']);
    expect((await seen.commands()).map((command) => command.name)).to.deep.equal(['eval', 'exists', 'get']);
    await seen.clear();
    expect(await seen.commands()).to.deep.equal([]);
  });
});
