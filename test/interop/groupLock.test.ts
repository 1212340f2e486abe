// Ids in titles: test/README.md
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../support/uniqueName';
import { outcomeOf } from './support/outcome';
import { at, type Path } from './support/paths';
import type { PeerThread } from './support/PeerThread';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { RENEWAL_MS, type Timed, untilRenewed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

const SECONDS = 'SECONDS';
const MS = 'MILLISECONDS';

describeWithJava('interop: the lock of values of a group', () => {
  let stage: Stage;
  let group: string;

  before(async () => {
    stage = await Stage.shared({ config: { codec: 'string', lockWatchdogTimeout: WATCHDOG_MS } });
  });

  beforeEach(() => {
    group = uniqueName();
  });

  const of = (...values: string[]): Path => at.group(group, values);
  const channel = (): string => `redisson_lock__channel:{${group}}`;

  /** The hash and its life, with the owner as `me` and times as classes from now. */
  async function data(thread: PeerThread, key = group): Promise<unknown> {
    const owner = await thread.owner();
    const [hash, ttl] = await Promise.all([stage.probe.redis.hgetall(key), stage.probe.redis.pttl(key)]);
    const fields = Object.entries(hash).map(([field, value]) => {
      const left = field.endsWith(':expire_time') ? `${classOf(Number(value) - Date.now())} ms` : value;
      return [field.replace(owner, 'me'), left.replace(owner, 'me')];
    });
    return { fields: Object.fromEntries(fields.sort()) as unknown, ttl: ttl < 0 ? ttl : classOf(ttl) };
  }

  /** Starts a call that waits; resolves once a message can wake it. */
  async function startWaiting(
    thread: PeerThread,
    path: Path,
    method: string,
    ...args: unknown[]
  ): Promise<{ done: Promise<Timed<unknown>> }> {
    const before = await stage.probe.subscribers(channel());
    const done = thread.timed(path, method, ...args);
    done.catch(() => undefined);
    await stage.probe.untilSubscribed(channel(), before + 1);
    return { done };
  }

  it('leaves the same fields, counts, times and messages after each call, whoever makes it', async () => {
    const values = ['', 'a', 'Jack_001', 'ключ', '💚', 'x'.repeat(31), 'y'.repeat(32), 'z'.repeat(1000), 'a'];
    const seen: Record<string, unknown[]> = {};
    for (const side of ['java', 'node'] as const) {
      const name = `${group}-${side}`;
      const [all, some] = [at.group(name, values), at.group(name, ['a', '💚'])];
      const thread = stage.peer(side).thread();
      const steps: unknown[] = (seen[side] = []);
      const step = async (path: Path, method: string, ...args: unknown[]): Promise<void> => {
        const outcome = await outcomeOf(thread.call(path, method, ...args));
        steps.push([method, outcome, await data(thread, name)]);
      };
      await step(all, 'lock', 27, SECONDS);
      await step(all, 'isLocked');
      await step(some, 'tryLock', 0, 9, SECONDS);
      await step(some, 'tryLock', 1, 18, SECONDS);
      await step(all, 'isHeldByCurrentThread');
      await step(at.group(name, ['nobody', 'has it']), 'isLocked');
      // Java publishes these two as well, although nothing becomes free.
      await step(some, 'unlock');
      await step(some, 'unlock');
      const messages = await stage.probe.record();
      await step(all, 'unlock');
      await step(all, 'tryLock');
      await step(at.group(name, ['a']), 'forceUnlock');
      steps.push((await messages.messages()).filter((text) => text.includes(name)).map((text) => text.split(' ')[1]));
      await messages.stop();
      // Without the messages: where a value is lost already, waiters for the others are told here, not in Java.
      await step(all, 'unlock');
    }
    expect(seen['node']).to.deep.equal(seen['java']);
  });

  bothWays('shared values exclude, others do not, and an unlock wakes at once', async (first, second) => {
    const [holder, waiter] = [stage.peer(first).thread('holder'), stage.peer(second).thread('waiter')];
    await holder.call(of('a', 'b'), 'lock', 60, SECONDS);
    expect(await waiter.call(of('c', 'd'), 'tryLock')).to.equal(true);
    expect(await waiter.call(of('b', 'e'), 'tryLock')).to.equal(false);
    expect(await waiter.call(of('e', 'b'), 'tryLock', 200, MS)).to.equal(false);
    expect(await waiter.call(of('a'), 'isLocked')).to.equal(true);
    expect(await waiter.call(of('e'), 'isLocked')).to.equal(false);
    expect(await outcomeOf(waiter.call(of('a'), 'unlock'))).to.equal('IllegalMonitorState');
    const { done } = await startWaiting(waiter, of('e', 'b'), 'lock', 60, SECONDS);
    const unlocked = await holder.timed(of('a', 'b'), 'unlock');
    expect((await done).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
    expect(await holder.call(of('b'), 'tryLock')).to.equal(false);
    expect(await holder.call(of('a'), 'tryLock')).to.equal(true);
    await holder.call(of('a'), 'unlock');
    for (const path of [of('e', 'b'), of('c', 'd')]) await waiter.call(path, 'unlock');
    await stage.probe.untilKeysOf(group, []);
  });

  bothWays('every hold of a re-entered set has to be given back', async (first, second) => {
    const [holder, waiter] = [stage.peer(first).thread('holder'), stage.peer(second).thread('waiter')];
    for (let i = 0; i < 2; i++) await holder.call(of('a', 'b'), 'lock', 60, SECONDS);
    await holder.call(of('b', 'c'), 'lock', 60, SECONDS);
    const { done } = await startWaiting(waiter, of('b'), 'tryLock', 30, SECONDS);
    for (let i = 0; i < 2; i++) await holder.call(of('a', 'b'), 'unlock');
    expect(await stage.peer(second).thread('third').call(of('b'), 'tryLock')).to.equal(false);
    expect(await stage.peer(second).thread('third').call(of('a'), 'tryLock', 5, SECONDS)).to.equal(true);
    await holder.call(of('c', 'b'), 'unlock');
    expect((await done).result).to.equal(true);
    await waiter.call(of('b'), 'unlock');
    await stage.peer(second).thread('third').call(of('a'), 'unlock');
    await stage.probe.untilKeysOf(group, []);
  });

  bothWays('a value whose lease has run out goes to the next, and the others stay', async (first, second) => {
    const [holder, waiter] = [stage.peer(first).thread('holder'), stage.peer(second).thread('waiter')];
    await holder.call(of('long'), 'lock', 60, SECONDS);
    const locked = await holder.timed(of('short'), 'lock', 700, MS);
    const { result, endedAt } = await waiter.timed(of('short', 'free'), 'tryLock', 20, 60, SECONDS);
    expect(result).to.equal(true);
    expect(endedAt - locked.startedAt).to.be.within(600, 700 + WOKEN_MS);
    expect(await outcomeOf(holder.call(of('short'), 'unlock'))).to.equal('IllegalMonitorState');
    expect(await waiter.call(of('long'), 'tryLock')).to.equal(false);
    expect(await holder.call(of('short'), 'tryLock')).to.equal(false);
    await waiter.call(of('short', 'free'), 'unlock');
    // Counted anew: one unlock is enough, whatever the holder left behind when its lease ran out.
    await waiter.call(of('short'), 'lock', 60, SECONDS);
    await waiter.call(of('short'), 'unlock');
    expect(await waiter.call(of('short'), 'isLocked')).to.equal(false);
    await holder.call(of('long'), 'unlock');
  });

  it('the watchdog of either side keeps it past its lease, and no longer than it is held', async () => {
    const kept = async (first: Side, second: Side): Promise<void> => {
      const name = `${group}-${first}`;
      const path = at.group(name, ['a', 'b']);
      const [holder, other] = [stage.peer(first).thread('holder'), stage.peer(second).thread('other')];
      await holder.call(path, 'lock');
      await untilRenewed(() => stage.probe.redis.pttl(name));
      expect(await other.call(at.group(name, ['b']), 'tryLock')).to.equal(false);
      expect(await stage.probe.redis.pttl(name)).to.be.within(1, WATCHDOG_MS);
      expect(await holder.call(path, 'isHeldByCurrentThread')).to.equal(true);
      await holder.call(path, 'unlock');
      await other.call(path, 'lock', 60, SECONDS);
      await sleep(RENEWAL_MS + 300);
      // Renewals of the former holder would have set the time to live back to the watchdog's.
      expect(await stage.probe.redis.pttl(name)).to.be.within(WATCHDOG_MS + 1, 60_000 - RENEWAL_MS);
      await other.call(path, 'unlock');
    };
    await Promise.all([kept('java', 'node'), kept('node', 'java')]);
  });

  bothWays('forced open by the other side: waiters come in, the former holder is told', async (first, second) => {
    const holder = stage.peer(first).thread('holder');
    const waiter = stage.peer(first).thread('waiter');
    await holder.call(of('a'), 'lock');
    const { done } = await startWaiting(waiter, of('a', 'b'), 'lock');
    const forced = await stage.peer(second).thread().timed(of('a'), 'forceUnlock');
    expect(forced.result).to.equal(true);
    expect((await done).endedAt - forced.startedAt).to.be.below(WOKEN_MS);
    expect(await outcomeOf(holder.call(of('a'), 'unlock'))).to.equal('IllegalMonitorState');
    expect(await stage.peer(second).call(of('b'), 'tryLock')).to.equal(false);
    await waiter.call(of('a', 'b'), 'unlock');
    await stage.probe.untilKeysOf(group, []);
  });
});

/**
 * Rounded up, to whole watchdog time-outs: a machine that stands still between a call and its check is no difference.
 */
function classOf(ms: number): number {
  return Math.ceil((ms - 100) / WATCHDOG_MS) * WATCHDOG_MS;
}
