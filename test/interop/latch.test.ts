import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

describeWithJava('interop: the latch', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
  });

  const channel = (): string => `redisson_countdownlatch__channel__{${name}}`;

  bothWays('opens for the waiters of both sides when both have counted it down', async (first, second) => {
    const [a, b] = [stage.peer(first), stage.peer(second)];
    const latch = at.latch(name);
    expect(await a.call(latch, 'trySetCount', 3)).to.equal(true);
    expect(await b.call(latch, 'trySetCount', 5)).to.equal(false);
    const waiting = [first, first, second, second].map((side, i) =>
      stage.peer(side).thread(`waiter-${i}`).timed(latch, 'await', 20, 'SECONDS'),
    );
    await stage.probe.untilSubscribed(channel(), 2);
    await sleep(200);
    await b.call(latch, 'countDown');
    await a.call(latch, 'countDown');
    expect(await b.call(latch, 'getCount')).to.equal(1);
    const last = await b.thread().timed(latch, 'countDown');
    for (const { result, startedAt, endedAt } of await Promise.all(waiting)) {
      expect(result).to.equal(true);
      expect(startedAt).to.be.below(last.startedAt);
      expect(endedAt - last.startedAt).to.be.within(0, WOKEN_MS);
    }
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('is open when the other side has counted it down before, or never set it', async (first, second) => {
    const latch = at.latch(name);
    expect(await stage.peer(second).call(latch, 'await', 5, 'SECONDS')).to.equal(true);
    await stage.peer(first).call(latch, 'trySetCount', 1);
    expect(await stage.peer(second).call(latch, 'await', 100, 'MILLISECONDS')).to.equal(false);
    await stage.peer(first).call(latch, 'countDown');
    expect(await stage.peer(second).call(latch, 'await', 5, 'SECONDS')).to.equal(true);
  });

  it('a latch that Java deletes lets waiters of Node go (those of Java stay: a difference)', async () => {
    const latch = at.latch(name);
    await stage.java.call(latch, 'trySetCount', 1);
    const waiting = stage.node.thread('waiter').timed(latch, 'await', 20, 'SECONDS');
    const stuck = stage.java.thread('waiter').call(latch, 'await', 3500, 'MILLISECONDS');
    await stage.probe.untilSubscribed(channel(), 2);
    const deleted = await stage.java.thread().timed(latch, 'delete');
    expect(deleted.result).to.equal(true);
    const { result, endedAt } = await waiting;
    expect(result).to.equal(true);
    expect(endedAt - deleted.startedAt).to.be.below(WOKEN_MS);
    // Its last look, when the time is up, finds the latch open.
    expect(await stuck).to.equal(true);
  });
});
