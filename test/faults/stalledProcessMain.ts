import { Redisson } from '../../lib';

/*
 * A process whose waiters stand in the queue of a fair lock, take their turns, and come back, until it is killed or
 * stopped in the middle. Run by StalledProcess.ts.
 */

const WAITERS = 3;
const [url = '', name = ''] = process.argv.slice(2);
const redisson = Redisson.create({ url });

async function compete(): Promise<never> {
  for (;;) {
    try {
      const hold = await redisson.getFairLock(name).acquire({ waitTime: 3_000, leaseTime: 500 });
      await new Promise((resolve) => setTimeout(resolve, 3));
      await hold.unlock();
    } catch {
      // Faults are what it is for.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

for (let i = 0; i < WAITERS; i++) void compete();
process.send?.('started');
process.on('disconnect', () => process.exit());
