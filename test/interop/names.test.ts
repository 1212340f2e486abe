import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import { at, type Path } from './support/paths';
import type { Peer } from './support/Peer';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

const KINDS: readonly ((name: string) => Path)[] = [at.lock, at.fair, at.fenced, at.read, at.write, at.spin];

const SPECIAL = {
  'a hash tag': (name: string) => `orders:{${name}}`,
  'a hash tag within': (name: string) => `a{${name}}c`,
  'a lone opening brace': (name: string) => `${name}{x`,
  'a lone closing brace': (name: string) => `${name}}x`,
  'empty braces': (name: string) => `${name}{}x`,
  'blanks, colons and stars': (name: string) => `${name} : * ? [x]`,
  'letters of all the world': (name: string) => `${name}-Größe-锁-🔒`,
  'a thousand letters': (name: string) => name + 'x'.repeat(1000),
} as const;

describeWithJava('interop: names', () => {
  let stage: Stage;

  before(async () => {
    stage = await Stage.shared();
  });

  /** Every kind taken by the one peer is closed to the other, until it is given back; waiting works both ways. */
  async function exclude(first: Peer, second: Peer, base: string): Promise<void> {
    const [holder, waiter] = [first.thread('holder'), second.thread('waiter')];
    for (const [index, path] of KINDS.entries()) {
      const name = `${index}${base}`;
      // A reader keeps only writers out.
      const rival = path === at.read ? at.write : path;
      await holder.call(path(name), 'lock');
      expect(await waiter.call(rival(name), 'tryLock')).to.equal(false);
      const waiting = waiter.timed(rival(name), 'tryLock', 20, 'SECONDS');
      const unlocked = await holder.timed(path(name), 'unlock');
      const { result, endedAt } = await waiting;
      expect(result).to.equal(true);
      expect(endedAt - unlocked.startedAt).to.be.below(WOKEN_MS);
      await waiter.call(rival(name), 'unlock');
    }
    await count(first, second, `n${base}`);
  }

  async function count(first: Peer, second: Peer, base: string): Promise<void> {
    await first.call(at.semaphore(`s${base}`), 'trySetPermits', 2);
    expect(await second.call(at.semaphore(`s${base}`), 'tryAcquire', 2)).to.equal(true);
    await first.call(at.permits(`p${base}`), 'trySetPermits', 1);
    const id = await second.call<string>(at.permits(`p${base}`), 'acquire');
    expect(await first.call(at.permits(`p${base}`), 'tryRelease', id)).to.equal(true);
    await first.call(at.latch(`l${base}`), 'trySetCount', 1);
    await second.call(at.latch(`l${base}`), 'countDown');
    expect(await first.call(at.latch(`l${base}`), 'getCount')).to.equal(0);
  }

  for (const [title, nameOf] of Object.entries(SPECIAL)) {
    bothWays(`with ${title} mean the same to both`, async (first, second) => {
      await exclude(stage.peer(first), stage.peer(second), nameOf(uniqueName()));
    });
  }

  bothWays('mapped by both with one prefix mean the same to both', async (first: Side, second: Side) => {
    const prefix = `${uniqueName()}:`;
    const peers = await Promise.all([first, second].map((side) => stage.guest(side, { nameMapperPrefix: prefix })));
    const [a, b] = peers as [Peer, Peer];
    const name = uniqueName();
    await a.thread('holder').call(at.fair(name), 'lock');
    // The mapped name is what every key is made of.
    expect(await stage.probe.keysOf(name)).to.deep.equal([`${prefix}${name}`]);
    expect(await stage.peer(second).call(at.fair(`${prefix}${name}`), 'tryLock')).to.equal(false);
    await a.thread('holder').call(at.fair(name), 'unlock');
    await exclude(a, b, uniqueName());
  });
});
