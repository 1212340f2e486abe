// Ids in titles: test/README.md
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as net from 'node:net';
import * as path from 'node:path';
import { freePort, RedisCluster, RedisServer, ReplicatedRedis, trackClient } from '../support';
import { transpiled } from '../support/transpiled';

/** A process that has nothing left ends so soon after shutdown(), in ms, also on a busy machine. */
const ENDS_MS = 1_000;

describe('shutdown() leaves nothing that keeps the process alive (B10)', function () {
  this.timeout(60_000);
  let closed: string;
  let silent: string;
  let silence: net.Server;
  const sockets = new Set<net.Socket>();

  before(async () => {
    closed = `127.0.0.1:${await freePort()}`;
    silence = net.createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
    });
    await new Promise<void>((resolve) => silence.listen(0, '127.0.0.1', resolve));
    silent = `127.0.0.1:${(silence.address() as net.AddressInfo).port}`;
  });

  after(() => {
    for (const socket of sockets) socket.destroy();
    silence.close();
  });

  /** Runs a client that is shut down after a pause; resolves to how long the process lived on, in ms. */
  async function lifeAfterShutdown(options: object, pauseMs: number): Promise<number> {
    const script = transpiled(path.join(__dirname, 'exitProcess.ts'));
    const output = await new Promise<string>((resolve, reject) => {
      const args = [script, JSON.stringify(options), String(pauseMs)];
      execFile(process.execPath, args, { timeout: 30_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${error.message}\n${stdout}${stderr}`));
      });
    });
    const lines = output.trim().split('\n');
    expect(lines[0], 'what is left').to.not.contain('left');
    return (JSON.parse(lines.at(-1)!) as { ms: number }).ms;
  }

  /** By where they lead; each is shut down at once, and when it has tried for a while. */
  const unreachable: Record<string, (address: string) => object> = {
    single: (at) => ({ url: `redis://${at}` }),
    sentinel: (at) => ({
      config: { sentinelServersConfig: { masterName: 'm', sentinelAddresses: [`redis://${at}`] } },
    }),
    'a client of sentinels': (at) => ({
      copyOf: { name: 'm', sentinels: [{ host: '127.0.0.1', port: Number(at.split(':')[1]) }] },
    }),
    'master/slave': (at) => ({
      config: { masterSlaveServersConfig: { masterAddress: `redis://${at}`, slaveAddresses: [`redis://${at}`] } },
    }),
    replicated: (at) => ({
      config: { replicatedServersConfig: { scanInterval: 30_000, nodeAddresses: [`redis://${at}`] } },
    }),
    cluster: (at) => ({ config: { clusterServersConfig: { nodeAddresses: [`redis://${at}`] } } }),
  };

  for (const [topology, options] of Object.entries(unreachable)) {
    for (const pauseMs of [0, 700]) {
      it(`${topology}, unreachable, after ${pauseMs} ms`, async () => {
        expect(await lifeAfterShutdown(options(closed), pauseMs)).to.be.lessThan(ENDS_MS);
      });

      it(`${topology}, accepts and says nothing, after ${pauseMs} ms`, async () => {
        expect(await lifeAfterShutdown(options(silent), pauseMs)).to.be.lessThan(ENDS_MS);
      });
    }
  }

  it('a search among replicas only', async () => {
    const server = trackClient(await RedisServer.start({ args: ['--replicaof', ...closed.split(':')] }));
    const at = `127.0.0.1:${server.port}`;
    for (const topology of ['master/slave', 'replicated']) {
      expect(await lifeAfterShutdown(unreachable[topology]!(at), 600), topology).to.be.lessThan(ENDS_MS);
    }
  });

  it('a cluster, while it starts and after', async () => {
    const cluster = trackClient(await RedisCluster.start());
    for (const pauseMs of [0, 5, 20, 500]) {
      const options = { config: { clusterServersConfig: { nodeAddresses: [cluster.urls[0]] } } };
      expect(await lifeAfterShutdown(options, pauseMs), `${pauseMs} ms`).to.be.lessThan(ENDS_MS);
    }
  });

  it('a master with replicas and sentinels, while it connects and after', async () => {
    const group = trackClient(await ReplicatedRedis.start({ sentinels: 3 }));
    const sentinelAddresses = group.sentinels.map(({ url }) => url);
    const servers = [group.master, ...group.replicas].map(({ url }) => url);
    const configs = [
      { sentinelServersConfig: { masterName: group.masterName, sentinelAddresses } },
      { masterSlaveServersConfig: { masterAddress: servers[0], slaveAddresses: servers.slice(1) } },
      { replicatedServersConfig: { nodeAddresses: servers } },
    ];
    for (const config of configs) {
      for (const pauseMs of [0, 10, 500]) {
        expect(await lifeAfterShutdown({ config }, pauseMs), JSON.stringify(config)).to.be.lessThan(ENDS_MS);
      }
    }
  });
});
