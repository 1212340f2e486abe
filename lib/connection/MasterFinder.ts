import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { NodeAddress } from '../config/Topology';
import { jittered } from '../util/jitter';
import { nodeKey } from './connectionOptions';
import { driverError } from './driverError';
import { Handshake } from './Handshake';
import type { OwnRedisOptions } from './ownOptions';

/** How soon a search that nobody wants any more ends, in ms. */
const SLICE_MS = 50;

/** How a master is looked for. */
export interface FinderOptions {
  /** What connections need to log in. */
  readonly connection: OwnRedisOptions;
  /** How long a server may take to say what it is, in ms. */
  readonly timeout: number;
  /** Pause between two rounds that found no master, in ms. */
  readonly pause: number;
}

/**
 * Finds the one of some servers that is the master: asks all at once, and the first that says so is it.
 * Searches that meet share one answer.
 */
export class MasterFinder {
  readonly #nodes: readonly NodeAddress[];
  readonly #options: FinderOptions;
  #round: Promise<NodeAddress> | undefined;

  constructor(nodes: readonly NodeAddress[], options: FinderOptions) {
    this.#nodes = nodes;
    this.#options = options;
  }

  /** Searches until there is one. @param trouble - told of each round without @param wanted - when to stop */
  async find(trouble: (error: Error) => void, wanted: () => boolean): Promise<NodeAddress> {
    while (wanted()) {
      this.#round ??= this.#ask().finally(() => (this.#round = undefined));
      try {
        return await this.#round;
      } catch (error) {
        trouble(error as Error);
      }
      // In slices: a client that is shut down leaves no timer behind that keeps the process alive (B10).
      for (let left = jittered(this.#options.pause); wanted() && left > 0; left -= SLICE_MS) {
        await pause(Math.min(left, SLICE_MS));
      }
    }
    return this.#nodes[0]!;
  }

  async #ask(): Promise<NodeAddress> {
    try {
      return await Promise.any(this.#nodes.map((node) => this.#mustBeMaster(node)));
    } catch (error) {
      const reasons = (error as AggregateError).errors.map((reason: Error) => reason.message);
      throw new Error(`No master among ${this.#nodes.map(nodeKey).join(', ')} (${reasons.join('; ')})`);
    }
  }

  async #mustBeMaster(node: NodeAddress): Promise<NodeAddress> {
    const { connection, timeout } = this.#options;
    let reason: Error | undefined;
    const redis = new Redis({
      ...connection,
      ...node,
      connectTimeout: Math.min(timeout, connection.connectTimeout ?? timeout),
      enableReadyCheck: false,
      enableOfflineQueue: true,
      lazyConnect: true,
      retryStrategy: null,
    });
    const handshake = new Handshake(redis, timeout, (error) => (reason = error));
    const timer = setTimeout(() => redis.disconnect(), timeout);
    try {
      const info = await redis.info('replication');
      if (/^role:master/m.test(info)) return node;
    } catch (error) {
      throw new Error(`${nodeKey(node)}: ${driverError(reason ?? (error as Error)).message}`);
    } finally {
      clearTimeout(timer);
      handshake.done();
      redis.disconnect();
    }
    throw new Error(`${nodeKey(node)} is a replica`);
  }
}
