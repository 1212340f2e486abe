import { EventEmitter } from 'node:events';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { expect } from 'chai';
import * as sinon from 'sinon';
import type { SinonFakeTimers } from 'sinon';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import type { Logger } from '../../../lib/config/Settings';
import type { ClientContext } from '../../../lib/kinds/ClientContext';
import type { RenewalThread } from '../../../lib/watchdog/Watchdog';
import { ThreadStarter } from '../../../lib/watchdogThread/ThreadStarter';
import { fakeClock, stallClock } from '../../support';
import { FakeOwnerships } from './fakeOwnerships';

/** Renewed by the thread, for as long as the event loop may be blocked. */
const THREADED = { maxStallMs: 600_000 } as const;

/** A thread that renews nothing, unless the test says so. */
class SilentThread implements RenewalThread {
  /** What has arrived, but was not read yet. */
  reports: (() => void)[] = [];

  changed(): void {}

  ended(): void {}

  receive(): void {
    for (const report of this.reports.splice(0)) report();
  }

  settled(): undefined {
    return undefined;
  }

  async close(): Promise<void> {}
}

describe('the watchdog beside its thread', () => {
  let clock: SinonFakeTimers;
  let owned: FakeOwnerships;
  let thread: SilentThread;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
    thread = new SilentThread();
    owned.watchdog.thread = thread;
  });

  it('renews what a thread that hangs leaves, before the lease is over', async () => {
    owned.take('a', THREADED);
    await clock.tickAsync(10_000);
    expect(owned.times, 'the thread has its time').to.deep.equal([]);
    await clock.tickAsync(80_000);
    expect(owned.times[0]).to.equal(20_000);
    expect(owned.lost).to.deep.equal([]);
  });

  it('leaves to a thread that works what it renews', async () => {
    owned.take('a', THREADED);
    const ownership = owned.ownership('a');
    for (let i = 0; i < 10; i++) {
      await clock.tickAsync(9_000);
      owned.watchdog.answered([ownership], [true], performance.now(), 30_000);
    }
    expect([owned.times, owned.lost]).to.deep.equal([[], []]);
  });

  it('reads what the thread has reported before it judges: the event loop was blocked past the lease', () => {
    owned.take('a', THREADED);
    const ownership = owned.ownership('a');
    stallClock(clock, 31_000);
    thread.reports.push(() => owned.watchdog.answered([ownership], [true], 25_000, 30_000));
    owned.watchdog.catchUp();
    expect(owned.lost).to.deep.equal([]);
    expect(ownership.deadline).to.be.within(54_000, 55_000);
  });
});

describe('a thread that ends by itself', () => {
  let clock: SinonFakeTimers;
  let owned: FakeOwnerships;
  let workers: EventEmitter[];
  let warnings: string[];
  let starter: ThreadStarter;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
    workers = [];
    warnings = [];
    class Worker extends EventEmitter {
      constructor() {
        super();
        workers.push(this);
      }

      unref(): void {}

      async terminate(): Promise<void> {}
    }
    sinon.stub(process, 'getBuiltinModule').returns({ MessageChannel, receiveMessageOnPort, Worker });
    const none = (): void => undefined;
    const logger: Logger = { debug: none, info: none, error: none, warn: (_, text) => void warnings.push(text) };
    starter = new ThreadStarter(resolveConfig({ watchdogThread: true, logger }, {}), 'client', 'client');
    const { watchdog, table: ownerships, kind } = owned;
    const renewals = { plain: kind } as unknown as ClientContext['renewals'];
    starter.client = { watchdog, ownerships, renewals, logins: undefined };
  });

  afterEach(async () => {
    sinon.restore();
    await owned.watchdog.thread?.close();
  });

  it('the main thread renews all at once, the user is told once, and the next hold starts another one', async () => {
    starter.use();
    owned.take('a', THREADED);
    await clock.tickAsync(15_000);
    expect(owned.times).to.deep.equal([]);
    workers[0]!.emit('error', new Error('out of memory'));
    workers[0]!.emit('exit');
    await clock.tickAsync(1);
    expect(owned.times).to.deep.equal([15_000]);
    await clock.tickAsync(10_000);
    expect(owned.times, 'and as usual from then on').to.deep.equal([15_000, 25_000]);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('it has failed (out of memory)');
    starter.use();
    expect(workers).to.have.length(2);
  });

  it('two that end at once: the third one waits for a minute', async () => {
    for (const count of [1, 2]) {
      starter.use();
      expect(workers).to.have.length(count);
      workers.at(-1)!.emit('exit');
    }
    await clock.tickAsync(59_000);
    starter.use();
    expect(workers).to.have.length(2);
    await clock.tickAsync(1_001);
    starter.use();
    expect(workers).to.have.length(3);
  });
});
