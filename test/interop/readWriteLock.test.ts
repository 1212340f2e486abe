import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { sleepUntil } from '../support/sleepUntil';
import { uniqueName } from '../support/uniqueName';
import { outcomeOf } from './support/outcome';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

describeWithJava('interop: the read/write lock', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
  });

  const channel = (): string => `redisson_rwlock:{${name}}`;
  const holdKey = (owner: string, hold: number): string => `{${name}}:${owner}:rwlock_timeout:${hold}`;

  bothWays('readers of both sides are inside together, and a writer waits for the last', async (first, second) => {
    const [a, b] = [stage.peer(first).thread('a'), stage.peer(second).thread('b')];
    const writer = stage.peer(first).thread('writer');
    await a.call(at.read(name), 'lock');
    await b.call(at.read(name), 'lock');
    expect(await stage.probe.redis.hgetall(name)).to.deep.equal({
      mode: 'read',
      [await a.owner()]: '1',
      [await b.owner()]: '1',
    });
    const writing = writer.timed(at.write(name), 'lock');
    await stage.probe.untilSubscribed(channel());
    await a.call(at.read(name), 'unlock');
    expect(await a.call(at.write(name), 'isLocked')).to.equal(false);
    const unlocked = await b.timed(at.read(name), 'unlock');
    expect((await writing).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
    expect(await stage.probe.redis.hgetall(name)).to.deep.equal({
      mode: 'write',
      [`${await writer.owner()}:write`]: '1',
    });
    await writer.call(at.write(name), 'unlock');
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('a writer that unlocks wakes the readers of both sides', async (first, second) => {
    const writer = stage.peer(first).thread('writer');
    await writer.call(at.write(name), 'lock');
    const readers = [first, first, second, second].map((side, i) => stage.peer(side).thread(`reader-${i}`));
    const reading = readers.map((reader) => reader.timed(at.read(name), 'lock'));
    await stage.probe.untilSubscribed(channel(), 2);
    // The second reader of a client shares the subscription of the first; give it the time for its own attempt.
    await sleep(200);
    const unlocked = await writer.timed(at.write(name), 'unlock');
    for (const reader of reading) expect((await reader).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
    expect(await stage.probe.redis.hlen(name)).to.equal(5);
    await Promise.all(readers.map((reader) => reader.call(at.read(name), 'unlock')));
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('the lock lives as long as the longest of the remaining read leases', async (first, second) => {
    const [long, short] = [stage.peer(first).thread('long'), stage.peer(second).thread('short')];
    await long.call(at.read(name), 'lock', 20, 'SECONDS');
    await short.call(at.read(name), 'lock', 60, 'SECONDS');
    expect(await stage.probe.redis.pttl(name)).to.be.within(50_000, 60_000);
    await short.call(at.read(name), 'unlock');
    expect(await stage.probe.redis.pttl(name)).to.be.within(10_000, 20_000);
    expect(await stage.probe.redis.exists(holdKey(await long.owner(), 1))).to.equal(1);
    await long.call(at.read(name), 'unlock');
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  bothWays('a read hold that has run out does not keep the lock of the other side', async (first, second) => {
    const [dead, alive] = [stage.peer(first).thread('dead'), stage.peer(second).thread('alive')];
    await dead.call(at.read(name), 'lock', 200, 'MILLISECONDS');
    await alive.call(at.read(name), 'lock', 20, 'SECONDS');
    await stage.probe.untilGone(holdKey(await dead.owner(), 1));
    await alive.call(at.read(name), 'unlock');
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
    expect(await outcomeOf(dead.call(at.read(name), 'unlock'))).to.equal('IllegalMonitorState');
  });

  bothWays('every read hold of a re-entered lock has its own key', async (first, second) => {
    const [reader, other] = [stage.peer(first).thread('reader'), stage.peer(second).thread('other')];
    const owner = await reader.owner();
    for (let i = 0; i < 3; i++) await reader.call(at.read(name), 'lock', 20, 'SECONDS');
    await other.call(at.read(name), 'lock', 10, 'SECONDS');
    await other.call(at.read(name), 'unlock');
    expect(await stage.probe.redis.hget(name, owner)).to.equal('3');
    for (const holds of [3, 2, 1]) {
      expect(await stage.probe.redis.exists(...[1, 2, 3].map((hold) => holdKey(owner, hold)))).to.equal(holds);
      expect(await other.call(at.write(name), 'tryLock')).to.equal(false);
      await reader.call(at.read(name), 'unlock');
    }
    expect(await other.call(at.write(name), 'tryLock')).to.equal(true);
    await other.call(at.write(name), 'unlock');
  });

  bothWays('a writer that reads too comes down to reading, and lets the other side read', async (first, second) => {
    const [writer, reader] = [stage.peer(first).thread('writer'), stage.peer(second).thread('reader')];
    await writer.call(at.write(name), 'lock', 30, 'SECONDS');
    await writer.call(at.read(name), 'lock', 30, 'SECONDS');
    expect(await reader.call(at.read(name), 'tryLock')).to.equal(false);
    await writer.call(at.write(name), 'unlock');
    expect(await stage.probe.redis.hget(name, 'mode')).to.equal('read');
    expect(await reader.call(at.read(name), 'tryLock')).to.equal(true);
    expect(await reader.call(at.write(name), 'tryLock')).to.equal(false);
    await writer.call(at.read(name), 'unlock');
    await reader.call(at.read(name), 'unlock');
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });

  it('readers of Java that wait while a Node writer comes down are woken at once', async () => {
    const [writer, reader] = [stage.node.thread('writer'), stage.java.thread('reader')];
    await writer.call(at.write(name), 'lock', 30, 'SECONDS');
    await writer.call(at.read(name), 'lock', 30, 'SECONDS');
    const reading = reader.timed(at.read(name), 'lock');
    await stage.probe.untilSubscribed(channel());
    const down = await writer.timed(at.write(name), 'unlock');
    expect((await reading).endedAt - down.startedAt).to.be.within(0, WOKEN_MS);
    await reader.call(at.read(name), 'unlock');
    await writer.call(at.read(name), 'unlock');
  });

  it('readers of Node that wait while a Java writer comes down are in when its lease ends, untold', async () => {
    const [writer, reader] = [stage.java.thread('writer'), stage.node.thread('reader')];
    const leaseMs = 3500;
    await writer.call(at.write(name), 'lock', leaseMs, 'MILLISECONDS');
    await writer.call(at.read(name), 'lock', leaseMs, 'MILLISECONDS');
    const reading = reader.timed(at.read(name), 'lock');
    await stage.probe.untilSubscribed(channel());
    await writer.call(at.write(name), 'unlock');
    const { startedAt, endedAt } = await reading;
    expect(endedAt - startedAt).to.be.below(leaseMs + WOKEN_MS);
    await reader.call(at.read(name), 'unlock');
  });

  bothWays('nobody comes up from reading to writing', async (first, second) => {
    const [a, b] = [stage.peer(first).thread('a'), stage.peer(second).thread('b')];
    await a.call(at.read(name), 'lock');
    expect(await a.call(at.write(name), 'tryLock')).to.equal(false);
    expect(await b.call(at.write(name), 'tryLock', 100, 'MILLISECONDS')).to.equal(false);
    await a.call(at.read(name), 'unlock');
  });

  bothWays('forcing the write lock open drops the reads of the writer, too', async (first, second) => {
    const writer = stage.peer(first).thread('writer');
    await writer.call(at.write(name), 'lock');
    await writer.call(at.read(name), 'lock');
    expect(await stage.peer(second).call(at.read(name), 'forceUnlock')).to.equal(false);
    expect(await stage.peer(second).call(at.read(name), 'isLocked')).to.equal(true);
    expect(await stage.peer(second).call(at.write(name), 'forceUnlock')).to.equal(true);
    expect(await outcomeOf(writer.call(at.read(name), 'unlock'))).to.equal('IllegalMonitorState');
    expect(await outcomeOf(writer.call(at.write(name), 'unlock'))).to.equal('IllegalMonitorState');
    await sleepUntil(async () => (await stage.probe.redis.exists(name)) === 0);
  });
});
