import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { CommandError, CommandTimeoutError } from '../../errors';
import { clientChannel } from '../../introspection/wire';

/** The results of one page of keys. */
export interface Page<T> {
  readonly found: readonly T[];
  /** The {@link Master.address} of the server that has them. */
  readonly address: string;
  /** Whether this is the last page of the last server: it completes a pass over all keys. */
  readonly last: boolean;
}

/** How many keys Redis scans for one page: about a millisecond of its time. */
const PAGE_SIZE = 1_000;

/** So many keys are on all nodes of most clusters. */
const REACHABLE_TRIES = 64;

/**
 * The error of Redis 6 and 7 if our user may not access a key. A forbidden command does not match: that error must
 * reach the caller, who can grant the right.
 */
const KEY_REFUSED = /^NOPERM .*\baccess (?:a key|one of the keys)\b/s;

/** A master. */
export interface Master {
  /** A key on it. */
  readonly routeBy: string;
  /** `host:port` in a cluster, else empty. */
  readonly address: string;
}

/** Reads single keys. */
export interface KeyReader {
  readonly executor: CommandExecutor;
  /** Sends a command about one key. Commands of the same turn are pipelined. */
  read(command: string, key: string, ...args: (string | number)[]): Promise<unknown>;
  /** The type of a key; `hidden` if our user may not access it. */
  typeOf(key: string): Promise<string>;
}

/** Reads from Redis: single keys, all keys of every master page by page, and the subscribers of channels. */
export class RedisView implements KeyReader {
  readonly executor: CommandExecutor;
  /** Set if our user may not run scripts: keys are then read one by one. */
  refusesScripts = false;

  constructor(executor: CommandExecutor) {
    this.executor = executor;
  }

  read(command: string, key: string, ...args: (string | number)[]): Promise<unknown> {
    return this.executor.call(command, [key, ...args]);
  }

  typeOf(key: string): Promise<string> {
    const asked = this.read('type', key) as Promise<string>;
    return asked.catch((error: unknown) => {
      const { cause } = error as Error;
      if (error instanceof CommandError && cause instanceof Error && KEY_REFUSED.test(cause.message)) return 'hidden';
      throw error;
    });
  }

  /** Walks over the keys of all masters, for ever: after the last page it starts again. */
  async *pages(match: string | undefined): AsyncGenerator<Page<string>, never> {
    for (;;) {
      const masters = await this.masters();
      for (const [i, { routeBy, address }] of masters.entries()) {
        let cursor = '0';
        do {
          const args = [cursor, ...(match === undefined ? [] : ['MATCH', match]), 'COUNT', PAGE_SIZE];
          const [next, found] = (await this.executor.call('scan', args, { routeBy })) as [string, string[]];
          cursor = next;
          yield { found, address, last: cursor === '0' && i === masters.length - 1 };
        } while (cursor !== '0');
      }
    }
  }

  /** How many connections listen on each channel; `undefined` if the server refuses the command. */
  async subscribers(channels: readonly string[]): Promise<ReadonlyMap<string, number> | undefined> {
    const counts = new Map<string, number>(channels.map((channel) => [channel, 0]));
    if (channels.length === 0) return counts;
    const replies = await unlessRefused<string[][] | undefined>(this.#askOfChannels('NUMSUB', channels), undefined);
    for (const [channel, count] of replies?.flatMap(pairs) ?? []) {
      counts.set(channel, (counts.get(channel) ?? 0) + Number(count));
    }
    return replies && counts;
  }

  /** The ids of the clients that listen for questions. */
  async listeningClients(): Promise<readonly string[]> {
    const channels = (await this.#askOfChannels('CHANNELS', [clientChannel('*')])).flat();
    return [...new Set(channels.map((channel) => /\{(.*)\}/.exec(channel)![1]!))];
  }

  /** What a node knows of its cluster; empty if it refuses to say. */
  async clusterInfo(): Promise<string> {
    return String(await unlessRefused(this.executor.call('cluster', ['INFO'], { routeBy: this.#reachable() }), ''));
  }

  /** The client lists of the masters that answered; `complete` if all did. */
  async clientLists(): Promise<{ readonly texts: readonly string[]; readonly complete: boolean }> {
    const servers = await this.#servers();
    const ask = (routeBy: string): Promise<string | undefined> =>
      this.executor.call('client', ['LIST'], { routeBy, what: 'list connections' }).then(String, (error: unknown) => {
        // The server refused or took too long: its connections stay unknown.
        if (error instanceof CommandError || error instanceof CommandTimeoutError) return undefined;
        throw error;
      });
    const texts = (await Promise.all(servers.map(ask))).filter((text) => text !== undefined);
    return { texts, complete: texts.length === servers.length };
  }

  get isCluster(): boolean {
    return this.executor.slotOf('a') !== this.executor.slotOf('b');
  }

  /** A key on each master, and the master's address. Without a cluster: any key and no address. */
  async masters(): Promise<readonly Master[]> {
    if (!this.isCluster) return [{ routeBy: 'a', address: '' }];
    const asked = this.executor.call('cluster', ['SLOTS'], { routeBy: this.#reachable() });
    const ranges = (await asked) as [number, number, [string, number, string]][];
    const found = new Map<string, Master>();
    for (const [first, , [host, port, id]] of ranges) {
      const address = `${host}:${port}`;
      if (!found.has(id ?? address)) found.set(id ?? address, { routeBy: this.#keyIn(Number(first)), address });
    }
    return [...found.values()];
  }

  /** Asks each master about its channels; in a cluster, also about its shard channels. */
  async #askOfChannels(subcommand: 'NUMSUB' | 'CHANNELS', args: readonly string[]): Promise<string[][]> {
    const servers = await this.#servers();
    const ask = (what: string, routeBy: string): Promise<string[]> =>
      this.executor.call('pubsub', [what, ...args], { routeBy }) as Promise<string[]>;
    const asked = servers.map((routeBy) => ask(subcommand, routeBy));
    // Servers before Redis 7 have no shard channels.
    const askShard = (routeBy: string) => unlessRefused(ask(`SHARD${subcommand}`, routeBy), []);
    if (this.isCluster) asked.push(...servers.map(askShard));
    return Promise.all(asked);
  }

  /** A key on each master. */
  async #servers(): Promise<readonly string[]> {
    return (await this.masters()).map(({ routeBy }) => routeBy);
  }

  /** A key on a node that can be reached, if there is one. */
  #reachable(): string {
    const keys = Array.from({ length: REACHABLE_TRIES }, (_, i) => String(i));
    return keys.find((key) => this.executor.outage(key, 'reach a node') === undefined) ?? 'a';
  }

  #keyIn(slot: number): string {
    for (let i = 0; ; i++) if (this.executor.slotOf(String(i)) === slot) return String(i);
  }
}

/** The answer of Redis, or `otherwise` if Redis refuses the command. */
export function unlessRefused<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  return asked.catch((error: unknown) => {
    if (error instanceof CommandError) return otherwise;
    throw error;
  });
}

/**
 * The answer to a read, or `otherwise` if the key holds another type by now, or our user may not access it. A forbidden
 * command is an error: what it would have shown must not look as if it were not there.
 */
export function unlessUnreadable<T>(asked: Promise<unknown>, otherwise: T): Promise<T> {
  return asked.catch((error: unknown) => {
    const { cause } = error as Error;
    const isForbidden = error instanceof CommandError && error.reply === 'NOPERM';
    if (isForbidden && !(cause instanceof Error && KEY_REFUSED.test(cause.message))) throw error;
    return otherwise;
  }) as Promise<T>;
}

/** A flat reply as pairs. */
export function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i]!, flat[i + 1]!]);
  return result;
}
