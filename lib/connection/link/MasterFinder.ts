import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { NodeAddress } from '../../config/Topology';
import { jittered } from '../../util/timing';
import { nodeKey } from './connectionOptions';
import { driverError, hinted, TLS_HINTS } from './driverError';
import { Handshake } from './Handshake';
import { LoginError, searchError } from './Logins';
import type { OwnRedisOptions } from './ownOptions';
import { isReply } from './replyErrors';

/** How a master is searched for. */
export interface FinderOptions {
  /** What connections need to log in. */
  readonly connection: OwnRedisOptions;
  /** How long a server may take to report its role, in ms. */
  readonly timeout: number;
  /** Pause between two rounds that found no master, in ms. */
  readonly pause: number;
}

/**
 * Finds the master among some servers: asks all at once, and takes the first that reports this role.
 * Concurrent searches share one answer.
 */
export class MasterFinder {
  readonly #nodes: readonly NodeAddress[];
  readonly #options: FinderOptions;
  #round: Promise<NodeAddress> | undefined;
  /** The running searches; the connections of a round are closed when the last search ends. */
  #searches = 0;
  readonly #open = new Set<Redis>();

  constructor(nodes: readonly NodeAddress[], options: FinderOptions) {
    this.#nodes = nodes;
    this.#options = options;
  }

  /**
   * Searches until a master is found.
   *
   * @param trouble - called after each round without a master
   * @param unwanted - aborts: rejects at once; a client that is shut down keeps no timer and no socket (B10)
   */
  async find(trouble: (error: Error) => void, unwanted: AbortSignal): Promise<NodeAddress> {
    const ended = once(unwanted, 'abort').then(() => Promise.reject(unwanted.reason as Error));
    ended.catch(() => undefined);
    this.#searches++;
    try {
      for (;;) {
        this.#round ??= this.#ask().finally(() => (this.#round = undefined));
        try {
          return await Promise.race([this.#round, ended]);
        } catch (error) {
          if (unwanted.aborted) throw error;
          trouble(error as Error);
        }
        await Promise.race([pause(jittered(this.#options.pause), undefined, { signal: unwanted }), ended]);
      }
    } finally {
      if (--this.#searches === 0) for (const redis of this.#open) redis.disconnect();
    }
  }

  async #ask(): Promise<NodeAddress> {
    try {
      return await Promise.any(this.#nodes.map((node) => this.#mustBeMaster(node)));
    } catch (error) {
      const errors = (error as AggregateError).errors as readonly Error[];
      const reasons = errors.map(({ message }) => message).join('; ');
      const none = new Error(`No master among ${this.#nodes.map(nodeKey).join(', ')} (${reasons})`);
      throw searchError(none, errors);
    }
  }

  async #mustBeMaster(node: NodeAddress): Promise<NodeAddress> {
    const { connection, timeout } = this.#options;
    let reason: Error | undefined;
    let refused = false;
    const redis = new Redis({
      ...connection,
      ...node,
      connectTimeout: Math.min(timeout, connection.connectTimeout ?? timeout),
      enableReadyCheck: false,
      enableOfflineQueue: true,
      lazyConnect: true,
      retryStrategy: null,
    });
    this.#open.add(redis);
    const handshake = new Handshake(redis, timeout, (error, final) => {
      reason = error;
      refused = final;
    });
    const { tls } = connection;
    /** What it may be that nothing at all was said. */
    let hint: string | undefined = tls ? undefined : TLS_HINTS.maybeTheirs;
    const timer = setTimeout(() => {
      hint = tls && redis.status === 'connecting' ? TLS_HINTS.maybeNotTheirs : undefined;
      redis.disconnect();
    }, timeout);
    try {
      const info = await redis.info('replication');
      if (/^role:master/m.test(info)) return node;
    } catch (error) {
      const silent = hint !== undefined && reason === undefined && !isReply(error as Error);
      const cause = silent ? hinted(error as Error, hint!) : driverError(reason ?? (error as Error));
      const found = new Error(`${nodeKey(node)}: ${cause.message}`);
      throw cause.name === 'LoginError' ? new LoginError(found, refused) : found;
    } finally {
      clearTimeout(timer);
      this.#open.delete(redis);
      handshake.done();
      redis.disconnect();
    }
    throw new Error(`${nodeKey(node)} is a replica`);
  }
}
