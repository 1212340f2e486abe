import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Redis } from 'ioredis';
import type { Random } from './Random';
import { type RedisServer, sleep, sleepUntil, type TcpProxy } from '../support';

/** One thing that goes wrong. */
export interface Trouble {
  readonly title: string;
  make(): unknown;
}

/** Has the last save of the server fail for good: from then on it refuses writes wherever `save` is set. */
export async function failSaves(direct: Redis): Promise<void> {
  const [, folder] = await direct.config('GET', 'dir');
  const [, file] = await direct.config('GET', 'dbfilename');
  // A folder in the place of the file that it would rename its work to.
  fs.mkdirSync(path.join(folder!, file!));
  await direct.bgsave();
  const failed = async (): Promise<boolean> => /rdb_last_bgsave_status:err/.test(await direct.info('persistence'));
  await sleepUntil(failed, { timeout: 10_000, message: 'the save fails' });
}

/** Makes trouble for a server and its proxies, one after the other, and takes it all back in the end. */
export class Troublemaker {
  readonly #random: Random;
  readonly #server: RedisServer;
  readonly #proxies: readonly TcpProxy[];
  readonly #direct: Redis;
  readonly #more: readonly Trouble[];
  /** What it did, for whoever looks for the cause. */
  readonly log: string[] = [];
  /** Is told before each. */
  onTrouble: ((title: string) => void) | undefined;

  /** @param more - what else goes wrong here */
  constructor(
    random: Random,
    server: RedisServer,
    proxies: readonly TcpProxy[],
    direct: Redis,
    more: readonly Trouble[] = [],
  ) {
    this.#random = random;
    this.#server = server;
    this.#proxies = proxies;
    this.#direct = direct;
    this.#more = more;
  }

  /** For about so many ms; afterwards everything works again. */
  async rage(ms: number): Promise<void> {
    const endsAt = performance.now() + ms;
    try {
      while (performance.now() < endsAt) {
        const trouble = this.#random.of(this.#troubles(this.#random.of(this.#proxies)));
        this.log.push(trouble.title);
        this.onTrouble?.(trouble.title);
        await trouble.make();
        await sleep(this.#random.between(5, 150));
      }
    } finally {
      this.#server.resume();
      await this.#acceptWrites();
      for (const proxy of this.#proxies) await this.#heal(proxy);
    }
  }

  #troubles(proxy: TcpProxy): readonly Trouble[] {
    return [...this.#troublesOnTheWay(proxy), ...this.#troublesOfTheServer(), ...this.#more];
  }

  #troublesOnTheWay(proxy: TcpProxy): Trouble[] {
    const between = (low: number, high: number): number => this.#random.between(low, high);
    const direction = this.#random.of(['both', 'up', 'down'] as const);
    return [
      { title: 'cut', make: () => proxy.cut() },
      { title: 'cut', make: () => proxy.cut() },
      {
        title: `blackhole ${direction}`,
        make: async () => {
          proxy.blackhole(direction);
          await sleep(between(50, 900));
          await this.#heal(proxy);
        },
      },
      {
        title: 'delay',
        make: async () => {
          proxy.delay(between(1, 300), direction);
          await sleep(between(50, 600));
          proxy.delay(0);
        },
      },
      ...(['cut', 'hang'] as const).map((then) => ({
        title: `swallow, ${then}`,
        make: () => void proxy.swallowNextReply({ command: /eval/i, then }),
      })),
      {
        title: 'refuse',
        make: async () => {
          proxy.refuse();
          proxy.cut();
          await sleep(between(50, 700));
          await proxy.accept();
        },
      },
    ];
  }

  #troublesOfTheServer(): Trouble[] {
    const between = (low: number, high: number): number => this.#random.between(low, high);
    return [
      { title: 'kill subscribers', make: () => this.#direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub') },
      { title: 'kill everybody', make: () => this.#killEverybody() },
      { title: 'flush scripts', make: () => this.#direct.script('FLUSH') },
      {
        title: 'pause the server',
        make: async () => {
          this.#server.pause();
          await sleep(between(20, 600));
          this.#server.resume();
        },
      },
      {
        // Refuses what may grow the data set, and lets the rest pass.
        title: 'OOM',
        make: async () => {
          await this.#configure('maxmemory', '1');
          await sleep(between(50, 600));
          await this.#acceptWrites();
        },
      },
      {
        // Refuses every write.
        title: 'MISCONF',
        make: async () => {
          await this.#configure('save', '3600 1');
          await sleep(between(50, 600));
          await this.#acceptWrites();
        },
      },
    ];
  }

  async #acceptWrites(): Promise<void> {
    await this.#configure('maxmemory', '0');
    await this.#configure('save', '');
  }

  async #configure(name: string, value: string): Promise<void> {
    await this.#direct.config('SET', name, value);
  }

  /** Everybody but the connections of the tests, which have a name. */
  async #killEverybody(): Promise<void> {
    const list = (await this.#direct.call('CLIENT', 'LIST', 'TYPE', 'normal')) as string;
    const ids = [...list.matchAll(/^id=(\d+) .* name=(?:ioredisson\S*)? /gm)].map(([, id]) => id!);
    await Promise.all(ids.map((id) => this.#direct.call('CLIENT', 'KILL', 'ID', id)));
  }

  /** Bytes that a black hole ate are gone for good, so its connections are, too. */
  async #heal(proxy: TcpProxy): Promise<void> {
    proxy.cut();
    await proxy.pass();
  }
}
