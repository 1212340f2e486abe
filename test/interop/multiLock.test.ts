import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import { outcomeOf } from './support/outcome';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

describeWithJava('interop: the multi-lock', () => {
  let stage: Stage;
  let names: [string, string, string];

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    names = [uniqueName(), uniqueName(), uniqueName()];
  });

  bothWays('is held in all of its members, one by one, for the other side', async (first, second) => {
    const holder = stage.peer(first).thread('holder');
    const multi = at.multi(at.lock(names[0]), at.fair(names[1]), at.write(names[2]));
    await holder.call(multi, 'lock');
    const paths = [at.lock(names[0]), at.fair(names[1]), at.write(names[2])];
    for (const path of paths) expect(await stage.peer(second).call(path, 'tryLock')).to.equal(false);
    const owner = await stage.peer(second).thread('waiter').owner();
    const waiting = stage.peer(second).thread('waiter').timed(at.fair(names[1]), 'lock');
    await stage.probe.untilSubscribed(`redisson_lock__channel:{${names[1]}}:${owner}`);
    const unlocked = await holder.timed(multi, 'unlock');
    expect((await waiting).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
    await stage.peer(second).thread('waiter').call(at.fair(names[1]), 'unlock');
    for (const name of names) expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('takes nothing while the other side holds one member', async (first, second) => {
    const [a, b, c] = names;
    const holder = stage.peer(first).thread('holder');
    const other = stage.peer(second).thread('other');
    const multi = at.multi(at.lock(a), at.lock(b), at.lock(c));
    await holder.call(at.lock(b), 'lock');
    expect(await other.call(multi, 'tryLock')).to.equal(false);
    expect(await other.call(multi, 'tryLock', 200, 'MILLISECONDS')).to.equal(false);
    for (const name of [a, c]) expect(await stage.probe.keysOf(name)).to.deep.equal([]);
    await holder.call(at.lock(b), 'unlock');
    expect(await other.call(multi, 'tryLock')).to.equal(true);
    expect(await outcomeOf(holder.call(at.lock(a), 'unlock'))).to.equal('IllegalMonitorState');
    await other.call(multi, 'unlock');
  });

  bothWays('in opposite orders on both sides excludes, and both get through', async (first, second) => {
    const [a, b] = names;
    const one = stage.peer(first).thread('one');
    const two = stage.peer(second).thread('two');
    const forth = at.multi(at.lock(a), at.lock(b));
    const back = at.multi(at.lock(b), at.lock(a));
    const inside: string[] = [];
    const rounds = async (thread: typeof one, path: typeof forth): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        // Each may hold the member the other waits for. Giving up after unequal times is what Redisson's lock() does.
        while (!(await thread.call(path, 'tryLock', Math.ceil(50 + Math.random() * 200), 'MILLISECONDS')));
        inside.push(thread.name);
        expect(inside).to.deep.equal([thread.name]);
        await thread.call(path, 'isHeldByCurrentThread');
        inside.pop();
        await thread.call(path, 'unlock');
      }
    };
    await Promise.all([rounds(one, forth), rounds(two, back)]);
    for (const name of [a, b]) expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('gives every member the lease it was asked for', async (first, second) => {
    const [a, b] = names;
    const holder = stage.peer(first).thread('holder');
    const multi = at.multi(at.lock(a), at.lock(b));
    expect(await holder.call(multi, 'tryLock', 10_000, 20_000, 'MILLISECONDS')).to.equal(true);
    for (const name of [a, b]) {
      expect(await stage.peer(second).call(at.lock(name), 'remainTimeToLive')).to.be.within(15_000, 20_000);
    }
    await holder.call(multi, 'unlock');
  });

  bothWays('and a red lock: the majority is enough for either side', async (first, second) => {
    const [a, b, c] = names;
    const red = [['getRedLock', ...[a, b, c].map((name) => ({ object: at.lock(name) }))]] as const;
    const [one, two] = [stage.peer(first).thread('one'), stage.peer(second).thread('two')];
    await one.call(at.lock(a), 'lock');
    expect(await two.call(red, 'tryLock', 4000, 20_000, 'MILLISECONDS')).to.equal(true);
    // Without a lease: given one, Redisson would cut that of the first hold to twice the wait.
    expect(await one.call(red, 'tryLock', 200, 'MILLISECONDS')).to.equal(false);
    await two.call(red, 'unlock');
    await one.call(at.lock(a), 'unlock');
  });
});
