import '../engine/install';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Config } from '../../../lib/config/builder/Config';
import { Redisson } from '../../../lib/Redisson';
import { JavaClient } from '../java/JavaClient';
import { type Loop, SimProcess } from '../engine/Loop';
import { SimSocket } from '../net/SimSocket';
import type { SimCluster } from '../server/SimCluster';
import type { SimServer } from '../server/SimServer';
import type { SimTokens } from '../server/SimTokens';

/** A connection that is given up is destroyed after so many ms, as ioredis' own connector does. */
const DISCONNECT_MS = 100;

/** The settings that differ from world to world. */
export interface AppSettings {
  readonly lockWatchdogTimeout: number;
  readonly maxHandOvers: number;
  readonly fairLockWaitTimeout: number;
  readonly lockWatchdogBatchSize: number;
  /** @default false */
  readonly localHandOver?: boolean;
}

/** How long a way between a process and a server is, in ms, each time anew. */
export type Latency = (process: SimProcess, server: SimServer) => number;

/** One process with a client of ours, or of Java, for each server. */
export class App {
  readonly process: SimProcess;
  readonly clients: Redisson[] = [];
  /** Those of Java, where this is a process of Java: then there are none of ours. */
  readonly javaClients: JavaClient[] = [];
  readonly sockets = new Set<SimSocket>();
  /** Nothing new is begun. */
  leaving = false;
  /** Until when work under locks may go on although it is leaving, in ms of the world. */
  drainsUntil = -Infinity;
  closed = false;
  /** Where the sentinels are that know the servers. @default none: its connections lead to the servers themselves */
  sentinels: readonly string[] = [];
  /** Where its passwords come from. @default it needs none */
  tokens: SimTokens | undefined;
  /**
   * What its tasks use just now (keys of the oracle), and how many of them; 0 with the time when the last one ended.
   */
  readonly #used = new Map<string, { tasks: number; endedAt: number }>();

  constructor(
    id: string,
    readonly loop: Loop,
    readonly servers: readonly SimServer[],
    readonly latency: Latency,
    readonly settings: AppSettings,
    readonly java: boolean,
    readonly replicated: boolean,
    /** In place of the servers. */
    readonly cluster: SimCluster | undefined,
  ) {
    this.process = new SimProcess(id);
  }

  /** Makes the clients. To be run as code of this process. */
  open(): void {
    if (this.cluster !== undefined) return void this.clients.push(this.#openCluster(this.cluster));
    for (const server of this.servers) {
      if (this.java) {
        this.javaClients.push(
          new JavaClient(
            () => this.connect(server),
            this.settings,
            () => this.loop.now,
          ),
        );
        continue;
      }
      if (this.sentinels.length > 0) {
        this.clients.push(this.#openBySentinels(server.name));
        continue;
      }
      if (this.tokens !== undefined) {
        const config = this.#config();
        config.useSingleServer().setAddress(`redis://${server.name}:6379`);
        this.clients.push(Redisson.create(config));
        continue;
      }
      const client = new Redis({
        Connector: this.#connector(server),
        host: server.name,
        port: 6379,
        lazyConnect: true,
        protocol: 2,
        disableClientInfo: true,
        // The connector leads to the present master, as if a sentinel had told it.
        ...(this.replicated && { sentinels: [{ host: 'sentinel', port: 26379 }], name: server.name }),
      } as RedisOptions & { replyMapping: 'legacy' });
      const redisson = Redisson.create({ client, ...this.settings });
      this.clients.push(redisson);
    }
  }

  #openCluster({ servers, profile }: SimCluster): Redisson {
    const nodes = servers.slice(0, 3).map(({ address, port }) => ({ host: address, port }));
    if (this.tokens !== undefined) {
      const config = this.#config();
      config
        .useClusterServers()
        .addNodeAddress(...nodes.map(({ host, port }) => `redis://${host}:${port}`))
        .setScanInterval(profile.scanIntervalMs);
      return Redisson.create(config);
    }
    const client = new Cluster(nodes, {
      lazyConnect: true,
      slotsRefreshInterval: profile.scanIntervalMs,
      redisOptions: { protocol: 2, disableClientInfo: true },
    });
    return Redisson.create({ client, ...this.settings });
  }

  #openBySentinels(masterName: string): Redisson {
    const config = this.#config();
    config
      .useSentinelServers()
      .setMasterName(masterName)
      .addSentinelAddress(...this.sentinels);
    return Redisson.create(config);
  }

  #config(): Config {
    const { lockWatchdogTimeout, maxHandOvers, fairLockWaitTimeout, lockWatchdogBatchSize } = this.settings;
    const { localHandOver = false } = this.settings;
    const config = new Config()
      .setLockWatchdogTimeout(lockWatchdogTimeout)
      .setMaxHandOvers(maxHandOvers)
      .setLocalHandOver(localHandOver)
      .setFairLockWaitTimeout(fairLockWaitTimeout)
      .setLockWatchdogBatchSize(lockWatchdogBatchSize);
    return this.tokens === undefined ? config : config.setCredentials(this.tokens.credentials());
  }

  /** Its code connects to an address. */
  dial(host: string, port: number): SimSocket {
    return this.connect(this.cluster!.at(host, port)!);
  }

  /** Whether it runs just now. */
  get running(): boolean {
    return this.process.alive && this.process.frozenUntil <= this.loop.now && !this.closed;
  }

  /** A task uses something until it says that it does no more. */
  use(key: string): () => void {
    const used = this.#used.get(key) ?? { tasks: 0, endedAt: 0 };
    this.#used.set(key, used);
    used.tasks++;
    return () => {
      used.tasks--;
      used.endedAt = this.loop.now;
    };
  }

  /** For how long no task has used it, in ms. */
  unusedFor(key: string): number {
    const used = this.#used.get(key);
    if (used === undefined) return Infinity;
    return used.tasks > 0 ? 0 : this.loop.now - used.endedAt;
  }

  /** kill -9, or the end of its machine. @param silently - nobody tells the servers */
  crash(silently: boolean): void {
    this.process.alive = false;
    this.closed = true;
    for (const socket of this.sockets) {
      socket.trap = undefined;
      socket.toClient.lose();
      if (silently) socket.toServer.lose();
      else socket.toServer.send(undefined);
    }
  }

  /** A connection of this process. */
  connect(server: SimServer): SimSocket {
    const socket = new SimSocket(this.loop, server, () => this.latency(this.process, server));
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  }

  #connector(server: SimServer): unknown {
    const open = (): SimSocket => this.connect(server);
    return class SimConnector {
      firstError: Error | undefined;
      #socket: SimSocket | undefined;

      check(): boolean {
        return true;
      }

      connect(): Promise<SimSocket> {
        const socket = open();
        socket.once('error', (error: Error) => (this.firstError = error));
        this.#socket = socket;
        return Promise.resolve(socket);
      }

      disconnect(): void {
        const socket = this.#socket;
        if (socket === undefined) return;
        const timer = setTimeout(() => socket.destroy(), DISCONNECT_MS);
        socket.on('close', () => clearTimeout(timer));
        socket.end();
      }
    };
  }
}
