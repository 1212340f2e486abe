import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { CommandError, CommandTimeoutError } from '../../errors';
import { clientChannel } from '../../introspection/wire';

/** One page of what all keys bring. */
export interface Page<T> {
  readonly found: readonly T[];
  /** Whether it was the last page of the last server: every key has been seen once (more). */
  readonly last: boolean;
}

/** How many keys Redis looks at for one page: about a millisecond of its time. */
const PAGE_SIZE = 1_000;

/**
 * Redis 6 and 7 on a key that our user may not see; not on a command that it may not send, which is for the user to
 * mend.
 */
const KEY_REFUSED = /^NOPERM .*\baccess (?:a key|one of the keys)\b/s;

/** Reads single keys. */
export interface KeyReader {
  readonly executor: CommandExecutor;
  /** A command about one key. Commands sent in one turn travel together. */
  read(command: string, key: string, ...args: (string | number)[]): Promise<unknown>;
  /** The type of a key; `hidden` where our user has no right to the key. */
  typeOf(key: string): Promise<string>;
}

/** What is read of Redis: single keys, all keys page by page on every master, and who listens. */
export class RedisView implements KeyReader {
  readonly executor: CommandExecutor;
  /** Set where our user may not run scripts: keys are read one by one. */
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

  /** Walks over the keys of all masters, for ever: after the last page the first comes again. */
  async *pages(match: string | undefined): AsyncGenerator<Page<string>, never> {
    for (;;) {
      const servers = await this.#servers();
      for (const [i, routeBy] of servers.entries()) {
        let cursor = '0';
        do {
          const args = [cursor, ...(match === undefined ? [] : ['MATCH', match]), 'COUNT', PAGE_SIZE];
          const [next, found] = (await this.executor.call('scan', args, { routeBy })) as [string, string[]];
          cursor = next;
          yield { found, last: cursor === '0' && i === servers.length - 1 };
        } while (cursor !== '0');
      }
    }
  }

  /** How many connections listen on each channel; `undefined` where the server refuses to say. */
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

  /** The run ids of all masters, as one text; empty where INFO is refused. */
  async runs(): Promise<string> {
    const ask = async (routeBy: string): Promise<string> => {
      const text = String(await this.executor.call('info', ['server'], { routeBy, what: 'ask which server it is' }));
      return /^run_id:(\w+)/m.exec(text)?.[1] ?? '';
    };
    const askAll = async (): Promise<string[]> => Promise.all((await this.#servers()).map(ask));
    return (await unlessRefused(askAll(), [])).sort().join(' ');
  }

  /** What each master says of its connections. */
  async clientLists(): Promise<{ readonly texts: readonly string[]; readonly complete: boolean }> {
    const servers = await this.#servers();
    const ask = (routeBy: string): Promise<string | undefined> =>
      this.executor.call('client', ['LIST'], { routeBy, what: 'list connections' }).then(String, (error: unknown) => {
        // Refused, or a server that takes too long for it: what it would have told is unknown.
        if (error instanceof CommandError || error instanceof CommandTimeoutError) return undefined;
        throw error;
      });
    const texts = (await Promise.all(servers.map(ask))).filter((text) => text !== undefined);
    return { texts, complete: texts.length === servers.length };
  }

  get isCluster(): boolean {
    return this.executor.slotOf('a') !== this.executor.slotOf('b');
  }

  /** A key on each master, and the address of the master: any key and no address, where there is only one. */
  async masters(): Promise<readonly { readonly routeBy: string; readonly address: string }[]> {
    if (!this.isCluster) return [{ routeBy: 'a', address: '' }];
    const ranges = (await this.executor.call('cluster', ['SLOTS'])) as [number, number, [string, number, string]][];
    const found = new Map<string, { readonly routeBy: string; readonly address: string }>();
    for (const [first, , [host, port, id]] of ranges) {
      const address = `${host}:${port}`;
      if (!found.has(id ?? address)) found.set(id ?? address, { routeBy: this.#keyIn(Number(first)), address });
    }
    return [...found.values()];
  }

  /** Asks each master of its channels; in a cluster, of those of its shard, too. */
  async #askOfChannels(subcommand: 'NUMSUB' | 'CHANNELS', args: readonly string[]): Promise<string[][]> {
    const servers = await this.#servers();
    const ask = (what: string, routeBy: string): Promise<string[]> =>
      this.executor.call('pubsub', [what, ...args], { routeBy }) as Promise<string[]>;
    const asked = servers.map((routeBy) => ask(subcommand, routeBy));
    // Before Redis 7 there are none.
    const askShard = (routeBy: string) => unlessRefused(ask(`SHARD${subcommand}`, routeBy), []);
    if (this.isCluster) asked.push(...servers.map(askShard));
    return Promise.all(asked);
  }

  /** A key on each master. */
  async #servers(): Promise<readonly string[]> {
    return (await this.masters()).map(({ routeBy }) => routeBy);
  }

  #keyIn(slot: number): string {
    for (let i = 0; ; i++) if (this.executor.slotOf(String(i)) === slot) return String(i);
  }
}

/** What Redis answers, or something else where it refuses the command. */
export function unlessRefused<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  return asked.catch((error: unknown) => {
    if (error instanceof CommandError) return otherwise;
    throw error;
  });
}

/** A flat reply as pairs. */
export function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i]!, flat[i + 1]!]);
  return result;
}
