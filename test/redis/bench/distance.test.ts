import { expect } from 'chai';
import { Redis } from 'ioredis';
import { startDistance } from '../../../bench/distance/startDistance';
import { compileWorkers } from '../../../bench/harness/compileWorkers';
import { median } from '../../../bench/harness/statistics';
import { redisUrl } from '../../support';

async function roundTrip(redis: Redis): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 30; i++) {
    const before = performance.now();
    await redis.ping();
    times.push(performance.now() - before);
  }
  return median(times);
}

describe('bench: the distance', () => {
  it('a round trip takes so much longer; commands at once do not wait for each other', async () => {
    compileWorkers();
    const distant = await startDistance(redisUrl(), 20);
    const redis = new Redis(distant.url);
    try {
      expect(await roundTrip(redis)).to.be.within(20, 30);
      const before = performance.now();
      const replies = await Promise.all(Array.from({ length: 500 }, (_, i) => redis.echo(`${i}`)));
      expect(replies).to.deep.equal(Array.from({ length: 500 }, (_, i) => `${i}`));
      expect(performance.now() - before).to.be.below(500 * 2);
    } finally {
      redis.disconnect();
      distant.stop();
    }
  });
});
