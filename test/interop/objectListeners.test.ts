import { expect } from 'chai';
import { sleepUntil } from '../support/sleepUntil';
import { uniqueName } from '../support/uniqueName';
import { at, type Path } from './support/paths';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';

describeWithJava('interop: object listeners', () => {
  let stage: Stage;

  // Its own: the events would be among the messages that other suites record.
  before(async () => {
    stage = await Stage.open();
    await stage.probe.redis.config('SET', 'notify-keyspace-events', 'Egx');
  });
  after(() => stage.close());

  async function hears(side: Side, ...events: string[]): Promise<void> {
    let heard: readonly string[] = [];
    await sleepUntil(async () => (heard = await stage.peer(side).heard()).length >= events.length, {
      message: `${side} hears ${events.join(', ')}`,
      timeout: 20_000,
    });
    expect(heard).to.deep.equal(events);
  }

  bothWays('one side ends an object, the other hears it, until its listeners are removed', async (first, second) => {
    const names = { lock: uniqueName(), fair: uniqueName(), semaphore: uniqueName(), fence: uniqueName() };
    const lock = at.lock(names.lock);
    const listener = stage.peer(second);
    const ids = await listener.listen(lock);
    for (const path of [at.fair(names.fair), at.semaphore(names.semaphore), at.latch(names.fence)]) {
      await listener.listen(path);
    }
    await listener.heard();
    const thread = stage.peer(first).thread();
    const ended = async (path: Path): Promise<void> => {
      await thread.call(path, 'lock');
      await thread.call(path, 'unlock');
    };
    await ended(lock);
    await ended(at.fair(names.fair));
    await thread.call(at.semaphore(names.semaphore), 'trySetPermits', 1);
    await thread.call(at.semaphore(names.semaphore), 'delete');
    await thread.call(at.latch(names.fence), 'trySetCount', 1);
    await thread.call(at.latch(names.fence), 'countDown');
    const { fence } = names;
    const deleted = [names.lock, names.fair, names.semaphore, fence].map((name) => `deleted ${name}`);
    await hears(second, ...deleted);
    await thread.call(lock, 'lock', 200, 'MILLISECONDS');
    await hears(second, ...deleted, `expired ${names.lock}`);
    for (const id of ids) await listener.call(lock, 'removeListener', id);
    await ended(lock);
    await thread.call(at.latch(fence), 'trySetCount', 1);
    await thread.call(at.latch(fence), 'countDown');
    // Events arrive in order: that of the lock would have come before.
    await hears(second, ...deleted, `expired ${names.lock}`, `deleted ${fence}`);
  });
});
