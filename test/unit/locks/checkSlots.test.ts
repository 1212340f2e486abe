import { expect } from 'chai';
import type { CommandExecutor } from '../../../lib/connection/pending/CommandExecutor';
import { ConfigError } from '../../../lib/errors';
import { checkSlots } from '../../../lib/locks/core/calls';
import { fairKind } from '../../../lib/locks/kinds/fair';
import { fencedKind } from '../../../lib/locks/kinds/fenced';
import { groupKind, groupValues } from '../../../lib/locks/kinds/group';
import type { LockKind } from '../../../lib/locks/kinds/LockKind';
import { readKind } from '../../../lib/locks/kinds/read';
import { reentrantKind } from '../../../lib/locks/kinds/reentrant';
import { spinKind } from '../../../lib/locks/kinds/spin';
import { writeKind } from '../../../lib/locks/kinds/write';
import { slotOf } from '../../../lib/util/names';

const noop = (): undefined => undefined;
const cluster = { slotOf } as CommandExecutor;
const single = { slotOf: () => 0 } as unknown as CommandExecutor;
const NO_WATCH = { notified: noop, joined: noop, unheard: noop, left: noop };
const renewal = { renew: () => Promise.resolve([]), batchOf: () => 0 };

function kindsOf(executor: CommandExecutor): LockKind[] {
  return [
    reentrantKind(executor, 'id', renewal),
    fairKind(executor, 'id', renewal, 1_000, NO_WATCH),
    fencedKind(executor, 'id', renewal),
    readKind(executor, 'id', renewal),
    writeKind(executor, 'id', renewal),
    groupKind(executor, 'id', renewal, groupValues(['a'])),
  ];
}

describe('names on a cluster', () => {
  for (const name of ['order', 'a:b c', 'ключ', '{order}', 'a{b}c', '{b}:x}y', '{a}{b}']) {
    it(`'${name}' works for every kind`, () => {
      for (const kind of kindsOf(cluster)) checkSlots(cluster, name, kind.keysOf(name));
    });
  }

  for (const name of ['x{y', 'x{}y', 'x}y', '{}', '}', '{', 'a{b']) {
    it(`'${name}' is refused where its keys were on several slots, and works without a cluster`, () => {
      for (const kind of kindsOf(cluster)) {
        expect(() => checkSlots(cluster, name, kind.keysOf(name)), kind.name).to.throw(ConfigError, `'${name}'`);
      }
      for (const kind of kindsOf(single)) checkSlots(single, name, kind.keysOf(name));
    });
  }

  it('a spin lock has one key, and takes any name', () => {
    const kind = spinKind(cluster, 'id', renewal, () => {
      throw new Error('not asked for');
    });
    for (const name of ['x{y', 'x}y', '{}']) checkSlots(cluster, name, kind.keysOf(name));
  });
});
