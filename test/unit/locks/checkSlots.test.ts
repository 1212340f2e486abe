import { expect } from 'chai';
import type { CommandExecutor } from '../../../lib/connection/CommandExecutor';
import { ConfigError } from '../../../lib/errors';
import { checkSlots } from '../../../lib/locks/checkSlots';
import { fairDriver } from '../../../lib/locks/drivers/fair';
import { fencedDriver } from '../../../lib/locks/drivers/fenced';
import type { LockDriver } from '../../../lib/locks/drivers/LockDriver';
import { readDriver } from '../../../lib/locks/drivers/read';
import { reentrantDriver } from '../../../lib/locks/drivers/reentrant';
import { spinDriver } from '../../../lib/locks/drivers/spin';
import { writeDriver } from '../../../lib/locks/drivers/write';
import { slotOf } from '../../../lib/util/slot';

const cluster = { slotOf } as CommandExecutor;
const single = { slotOf: () => 0 } as unknown as CommandExecutor;
const renewal = { renew: () => Promise.resolve([]), batchOf: () => 0 };

function drivers(executor: CommandExecutor): LockDriver[] {
  return [
    reentrantDriver(executor, 'id', renewal),
    fairDriver(executor, 'id', renewal, 1_000, { told: () => undefined }),
    fencedDriver(executor, 'id', renewal),
    readDriver(executor, 'id', renewal),
    writeDriver(executor, 'id', renewal),
  ];
}

describe('names on a cluster', () => {
  for (const name of ['order', 'a:b c', 'ключ', '{order}', 'a{b}c', '{b}:x}y', '{a}{b}']) {
    it(`'${name}' works for every kind`, () => {
      for (const driver of drivers(cluster)) checkSlots(cluster, name, driver.keysOf(name));
    });
  }

  for (const name of ['x{y', 'x{}y', 'x}y', '{}', '}', '{', 'a{b']) {
    it(`'${name}' is refused where its keys were on several slots, and works without a cluster`, () => {
      for (const driver of drivers(cluster)) {
        expect(() => checkSlots(cluster, name, driver.keysOf(name)), driver.kind).to.throw(ConfigError, `'${name}'`);
      }
      for (const driver of drivers(single)) checkSlots(single, name, driver.keysOf(name));
    });
  }

  it('a spin lock has one key, and takes any name', () => {
    const driver = spinDriver(cluster, 'id', renewal, () => {
      throw new Error('not asked for');
    });
    for (const name of ['x{y', 'x}y', '{}']) checkSlots(cluster, name, driver.keysOf(name));
  });
});
