import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { channel } from 'node:diagnostics_channel';
import { register as defaultRegister, Registry } from 'prom-client';
import { ConfigError, type Redisson } from '../../../lib';
import { collectLockMetrics } from '../../../lib/integrations/prometheus';
import { sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';
import { KINDS } from './kinds';
import { anySubscriber } from './Recorder';

describe('ioredisson/prometheus', () => {
  let redis: Redis;
  let client: Redisson;
  let name: string;
  let register: Registry;

  beforeEach(() => {
    redis = bareClient();
    client = newClient();
    name = uniqueName('prometheus');
    register = new Registry();
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  /** Until the test ends. */
  function collect(options: Parameters<typeof collectLockMetrics>[0] = { register }): () => void {
    const stop = collectLockMetrics(options);
    trackClient({ close: stop });
    return stop;
  }

  /** A line of the text that Prometheus reads, e.g. `lock_held{kind="lock"}`. */
  async function value(line: string, of = register): Promise<number | undefined> {
    const text = await of.metrics();
    const found = text.split('\n').find((one) => one.startsWith(`ioredisson_${line} `));
    return found === undefined ? undefined : Number(found.split(' ').at(-1));
  }

  for (const { kind, make } of KINDS) {
    it(`counts a lock of kind ${kind}`, async () => {
      collect();
      const hold = await make(client, name).acquire();
      expect(await value(`lock_held{kind="${kind}"}`)).to.equal(1);
      await hold.unlock();
      expect(await value(`lock_held{kind="${kind}"}`)).to.equal(0);
      expect(await value(`lock_waiters{kind="${kind}"}`)).to.equal(0);
      expect(await value(`lock_acquisitions_total{kind="${kind}",outcome="acquired"}`)).to.equal(1);
      expect(await value(`lock_wait_duration_seconds_count{kind="${kind}"}`)).to.equal(1);
      expect(await value(`lock_hold_duration_seconds_count{kind="${kind}"}`)).to.equal(1);
      expect(await value(`lock_lost_total{kind="${kind}"}`)).to.equal(0);
      expect(await register.metrics()).not.to.contain(name);
    });
  }

  it('refuses options that it does not know', () => {
    for (const options of [{ registry: register }, { register, namesOf: () => undefined }, 'x', [register]]) {
      expect(() => collectLockMetrics(options as never)).to.throw(
        ConfigError,
        'register, prefix, nameOf, expectedWaits',
      );
    }
  });

  it('counts waiters, time-outs and losses, in seconds, and renewals that fail', async () => {
    collect();
    const hold = await client.getLock(name).acquire();
    const controller = new AbortController();
    const waiting = rejection(client.getLock(name).acquire({ signal: controller.signal }));
    await sleepUntil(async () => (await value('lock_waiters{kind="lock"}')) === 1);
    await new Promise((resolve) => setTimeout(resolve, 60));
    controller.abort();
    await waiting;
    expect(await value('lock_waiters{kind="lock"}')).to.equal(0);
    expect(await value('lock_acquisitions_total{kind="lock",outcome="aborted"}')).to.equal(1);
    expect(await value('lock_wait_duration_seconds_sum{kind="lock"}')).to.be.within(0.055, 30);
    await client.getLock(name).forceUnlock();
    await rejection(hold.unlock());
    expect(await value('lock_lost_total{kind="lock"}')).to.equal(1);
    expect(await value('renewal_errors_total')).to.equal(0);
    channel('ioredisson:renewal').publish({ clientId: 'x', locks: 3, ms: 4, error: new Error('down') });
    expect(await value('renewal_errors_total')).to.equal(1);
  });

  it('D6: shows how long the oldest wait and the longest hold last while they last', async () => {
    collect();
    const hold = await client.getLock(name).acquire();
    const controller = new AbortController();
    const waiting = [0, 1].map(() => rejection(client.getLock(name).acquire({ signal: controller.signal })));
    await sleepUntil(async () => (await value('lock_oldest_wait_seconds{kind="lock"}'))! > 0.06);
    // No wait has ended: the histogram knows of none.
    expect(await value('lock_wait_duration_seconds_count{kind="lock"}')).to.equal(1);
    const before = await value('lock_longest_hold_seconds{kind="lock"}');
    expect(before).to.be.greaterThan(0.06);
    await sleepUntil(async () => (await value('lock_longest_hold_seconds{kind="lock"}'))! > before!);
    controller.abort();
    await Promise.all(waiting);
    await hold.unlock();
    expect(await value('lock_oldest_wait_seconds{kind="lock"}')).to.equal(0);
    expect(await value('lock_longest_hold_seconds{kind="lock"}')).to.equal(0);
  });

  it('D14: has the label that nameOf makes, on every metric of a lock; one that throws makes none', async () => {
    collect({
      register,
      nameOf: (one) => {
        if (one.endsWith(':secret')) throw new Error('no name');
        return one.slice(0, 'prometheus'.length);
      },
    });
    const labels = 'kind="lock",name="prometheus"';
    const hold = await client.getLock(name).acquire();
    await client.getLock(`${name}:secret`).withLock(() => undefined);
    expect(await value(`lock_held{${labels}}`)).to.equal(1);
    expect(await value(`lock_longest_hold_seconds{${labels}}`)).to.be.greaterThan(0);
    await client.getLock(name).forceUnlock();
    await rejection(hold.unlock());
    expect(await value(`lock_lost_total{${labels}}`)).to.equal(1);
    expect(await value(`lock_held{${labels}}`)).to.equal(0);
    expect(await value(`lock_acquisitions_total{${labels},outcome="acquired"}`)).to.equal(1);
    expect(await value('lock_acquisitions_total{kind="lock",outcome="acquired"}')).to.equal(1);
    expect(await register.metrics()).not.to.contain(name);
  });

  it('begins anew where it is stopped and then called with other labels', async () => {
    collect()();
    collect({ register, nameOf: () => 'all' });
    await client.getLock(name).withLock(() => undefined);
    expect(await value('lock_acquisitions_total{kind="lock",name="all",outcome="acquired"}')).to.equal(1);
  });

  it('counts errors from 0 on, so that an alert on their increase sees the first one', async () => {
    collect();
    await redis.set(name, 'text');
    const failing = client.getLock(name).acquire();
    expect(await value('lock_acquisitions_total{kind="lock",outcome="error"}')).to.equal(0);
    await rejection(failing);
    expect(await value('lock_acquisitions_total{kind="lock",outcome="error"}')).to.equal(1);
    expect(await value('lock_lost_total{kind="lock"}')).to.equal(undefined);
  });

  it('counts nothing twice when it is called twice, and goes on until both are stopped', async () => {
    const [first, second] = [collect(), collect()];
    await client.getLock(name).withLock(() => undefined);
    first();
    first();
    await client.getLock(name).withLock(() => undefined);
    expect(await value('lock_acquisitions_total{kind="lock",outcome="acquired"}')).to.equal(2);
    const hold = await client.getLock(name).acquire();
    second();
    expect(anySubscriber()).to.equal(false);
    expect(await value('lock_held{kind="lock"}')).to.equal(0);
    await hold.unlock();
    const third = collect();
    await client.getLock(name).withLock(() => undefined);
    expect(await value('lock_acquisitions_total{kind="lock",outcome="acquired"}')).to.equal(4);
    expect(await value('lock_held{kind="lock"}')).to.equal(0);
    third();
  });

  it('uses the registry of prom-client and the prefix ioredisson_ by default, and others beside them', async () => {
    const stop = collect({});
    collect({ register, prefix: 'shop_' });
    await client.getLock(name).withLock(() => undefined);
    stop();
    const own = (await register.getMetricsAsJSON()).map((metric) => metric.name).sort();
    const global = (await defaultRegister.getMetricsAsJSON()).map((metric) => metric.name).sort();
    const names = [
      'lock_acquisitions_total',
      'lock_held',
      'lock_hold_duration_seconds',
      'lock_longest_hold_seconds',
      'lock_lost_total',
      'lock_oldest_wait_seconds',
      'lock_wait_duration_seconds',
      'lock_waiters',
      'renewal_errors_total',
    ];
    expect(own).to.deep.equal(names.map((one) => `shop_${one}`));
    expect(global).to.deep.equal(names.map((one) => `ioredisson_${one}`));
    expect(await value('lock_acquisitions_total{kind="lock",outcome="acquired"}', defaultRegister)).to.equal(1);
    defaultRegister.clear();
  });
});
