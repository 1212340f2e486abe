// Compiled by tsc and by swc, with decorators of both flavours; prints what happened.
import { DisLock, Redisson, type RedissonClient } from 'ioredisson';

const lockName = process.env['LOCK_NAME']!;
const redisson = Redisson.create(process.env['REDIS_URL']);

/** A client that has the public methods and no other. */
const other: Pick<RedissonClient, 'getLock'> = {
  getLock: (name) => {
    const lock = redisson.getLock(name);
    return { withLock: lock.withLock.bind(lock) } as typeof lock;
  },
};

let inside = 0;
let most = 0;

class Account {
  private balance = 5;

  @DisLock({ key: lockName })
  async add(amount: number): Promise<number> {
    inside += 1;
    most = Math.max(most, inside);
    const { balance } = this;
    await redisson.ping();
    this.balance = balance + amount;
    inside -= 1;
    return this.balance;
  }

  @DisLock({ key: (id: string) => `${lockName}:${id}`, waitTime: 0 })
  async lockOf(id: string): Promise<boolean> {
    return redisson.getLock(`${lockName}:${id}`).isHeldByCurrentThread();
  }

  @DisLock({ key: lockName })
  async nested(): Promise<number> {
    return this.add(1);
  }

  @DisLock({ key: lockName, client: other as RedissonClient })
  async byOther(): Promise<boolean> {
    return redisson.getLock(lockName).isHeldByCurrentThread();
  }

  @DisLock({ key: lockName, client: other as RedissonClient, ifExpireWhenFinish: false })
  async impossible(): Promise<void> {}

  @DisLock({ key: lockName })
  static async held(): Promise<boolean> {
    return redisson.getLock(lockName).isHeldByCurrentThread();
  }

  @DisLock({ key: lockName })
  async fails(): Promise<void> {
    throw new Error('its own');
  }
}

async function main(): Promise<void> {
  DisLock.use(redisson);
  const account = new Account();
  const sums = await Promise.all(Array.from({ length: 10 }, () => account.add(1)));
  const report = {
    most,
    last: Math.max(...sums),
    name: account.add.name,
    lockOf: await account.lockOf('x'),
    nested: await account.nested(),
    byOther: await account.byOther(),
    impossible: await account.impossible().catch((error: { code?: string }) => error.code),
    held: await Account.held(),
    fails: await account.fails().catch((error: Error) => error.message),
    free: !(await redisson.getLock(lockName).isLocked()),
  };
  await redisson.shutdown();
  console.log(JSON.stringify(report));
}

void main();
