import { expect } from 'chai';
import type { CommandExecutor } from '../../../lib/connection/pending/CommandExecutor';
import { ConfigError } from '../../../lib/errors';
import { checkSlots } from '../../../lib/config/validateName';
import type { ClientContext } from '../../../lib/kinds/ClientContext';
import { clientKind, renewalsOf } from '../../../lib/kinds/clientKind';
import { FAIR } from '../../../lib/kinds/fair';
import { FENCED } from '../../../lib/kinds/fenced';
import { GROUP, groupValues } from '../../../lib/kinds/group';
import type { LockKind } from '../../../lib/kinds/Kind';
import { READ, WRITE } from '../../../lib/kinds/readWrite';
import { LOCK } from '../../../lib/kinds/reentrant';
import { SPIN } from '../../../lib/kinds/spin';
import { slotOf } from '../../../lib/util/names';

const noop = (): undefined => undefined;
const cluster = { slotOf } as CommandExecutor;
const single = { slotOf: () => 0 } as unknown as CommandExecutor;
const NO_WATCH = { notified: noop, joined: noop, unheard: noop, left: noop };

function clientOf(executor: CommandExecutor): ClientContext {
  const renewals = renewalsOf(executor, (renewal) => renewal);
  return { clientId: 'id', executor, renewals, fairQueues: NO_WATCH } as unknown as ClientContext;
}

function kindsOf(executor: CommandExecutor): LockKind[] {
  const client = clientOf(executor);
  const named = [LOCK, FAIR, FENCED, READ, WRITE].map((kind) => clientKind(kind, client));
  return [...named, clientKind(GROUP, client, groupValues(['a']))];
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
    const kind = clientKind(SPIN, clientOf(cluster));
    for (const name of ['x{y', 'x}y', '{}']) checkSlots(cluster, name, kind.keysOf(name));
  });
});
