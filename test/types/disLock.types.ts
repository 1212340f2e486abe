import { DisLock, type DisLockOptions, type Redisson } from '../../lib';
import { exactly } from './exactly';

// The decorator. Never run.

interface Order {
  readonly id: string;
}

export class Orders {
  @DisLock({ key: 'orders' })
  async all(): Promise<readonly Order[]> {
    return [];
  }

  @DisLock({ key: (id: string) => `order:${id}`, waitTime: 100 })
  async one(id: string, _fresh?: boolean): Promise<Order> {
    return { id };
  }

  @DisLock({ key: (...ids: string[]) => ids.join() })
  async many(...ids: string[]): Promise<number> {
    return ids.length;
  }

  // Without annotations there is nothing to compare.
  @DisLock({ key: (id, _other) => `order:${String(id)}` })
  async two(id: string, _other: number): Promise<string> {
    return id;
  }

  @DisLock({ key: () => 'orders' })
  static async count(): Promise<number> {
    return 0;
  }

  @DisLock({ key: ({ id }: Order) => id, expire: 1_000, ifExpireWhenFinish: false })
  async #save(order: Order): Promise<void> {
    void order;
    await Promise.resolve();
  }

  save(order: Order): Promise<void> {
    return this.#save(order);
  }

  // @ts-expect-error a key of a number for a method of a text
  @DisLock({ key: (id: number) => `order:${id}` })
  async wrong(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error a key of two for a method of one
  @DisLock({ key: (id: string, other: string) => id + other })
  async short(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error not async
  @DisLock({ key: 'orders' })
  now(): number {
    return 0;
  }

  // @ts-expect-error not a method
  @DisLock({ key: 'orders' })
  field = 0;
}

export const options: DisLockOptions[] = [
  { key: 'a' },
  { key: 'a', waitTime: undefined, expire: undefined, lockWatchdogTimeout: undefined, maxRenewTimes: undefined },
  // @ts-expect-error a key is needed
  {},
  // @ts-expect-error not an option
  { key: 'a', wait: 5 },
  // @ts-expect-error a client, not its URL
  { key: 'a', client: 'redis://localhost' },
];

export async function using(client: Redisson, orders: Orders): Promise<void> {
  exactly<void>()(DisLock.use(client));
  DisLock.use(undefined);
  exactly<Order>()(await orders.one('a', true));
  exactly<number>()(await Orders.count());
  // @ts-expect-error the method's own arguments
  await orders.one(5);
}
