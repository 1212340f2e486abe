import { expect } from 'chai';
import { fakeClock } from '../../support';
import { threadForHold } from '../../../lib/thread/threadScope';
import type { MemberLock } from '../../../lib/locks/core/MemberLock';
import { MultiAcquisition } from '../../../lib/locks/multi/MultiAcquisition';
import { CommandError, CommandTimeoutError, ConnectionError } from '../../../lib';
import { MAJORITY, suspect } from '../../../lib/locks/multi/quorum';

class FakeHold {
  isHeld = true;
  isReleased = false;
  /** Called when its lease is set. */
  onLease: () => void = () => undefined;

  setLease(): Promise<boolean> {
    this.onLease();
    return Promise.resolve(this.isHeld);
  }

  unlock(): Promise<void> {
    this.isReleased = true;
    return Promise.resolve();
  }
}

/** A member that gives these answers, one per call, and keeps how long it was waited for. */
class FakeMember {
  readonly waits: number[] = [];
  readonly client = {};
  readonly #answers: (FakeHold | undefined)[];

  constructor(...answers: (FakeHold | undefined)[]) {
    this.#answers = answers;
  }

  isLocked(): Promise<boolean> {
    return Promise.resolve(false);
  }

  takeHold(waitMs: number): Promise<FakeHold | undefined> {
    this.waits.push(waitMs);
    return Promise.resolve(this.#answers.shift());
  }
}

/** How long a lock waits for a server that refuses, without limit. */
const LONGEST_MS = 7_000;

function acquire(members: FakeMember[], needed: number, waitMs: number, once = false): Promise<unknown> {
  const call = threadForHold(undefined, false);
  const request = { call, thread: call.thread, leaseMs: 10_000, waitMs, signal: undefined, once };
  return new MultiAcquisition(members as unknown as MemberLock[], needed, request, LONGEST_MS).run();
}

describe('the acquisition of several locks', () => {
  it('a majority of four is three', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((count) => MAJORITY.needed(count))).to.deep.equal([1, 2, 2, 3, 3, 4, 4]);
  });

  it('a server that hung is waited for by 0.2 s, where it is needed, and taken if it is back by then', async () => {
    const clock = fakeClock();
    for (const backAfter of [150, 250]) {
      const hold = new FakeHold();
      const hung = new FakeMember(new FakeHold());
      hung.isLocked = () => new Promise((resolve) => setTimeout(() => resolve(false), backAfter));
      suspect(hung as unknown as MemberLock);
      const startedAt = performance.now();
      let after = NaN;
      const taking = acquire([new FakeMember(hold), new FakeMember(), hung], 2, 5_000, true).then((taken) => {
        after = performance.now() - startedAt;
        return taken;
      });
      await clock.tickAsync(5_000);
      await taking.catch(() => undefined);
      expect([after, hung.waits.length], `back after ${backAfter} ms`).to.deep.equal(
        backAfter === 150 ? [150, 1] : [200, 0],
      );
    }
    clock.restore();
  });

  it('two of four are not enough for a red lock, and are given back', async () => {
    const holds = [new FakeHold(), new FakeHold()];
    const members = [new FakeMember(holds[0]), new FakeMember(holds[1]), new FakeMember(), new FakeMember()];
    expect(await acquire(members, MAJORITY.needed(4), 0)).to.have.property('member', members[2]);
    expect(holds.map(({ isReleased }) => isReleased)).to.deep.equal([true, true]);
  });

  it('a member that is lost while the others get their lease does not count, and is given back', async () => {
    const [first, lost, last] = [new FakeHold(), new FakeHold(), new FakeHold()];
    last.onLease = () => (lost.isHeld = false);
    const members = [first, lost, last].map((hold) => new FakeMember(hold));
    expect(await acquire(members, 2, 0)).to.deep.equal([first, last]);
    expect(lost.isReleased).to.equal(true);
  });

  it('a majority that is no more when the leases are set is none', async () => {
    const [first, lost] = [new FakeHold(), new FakeHold()];
    first.onLease = () => (lost.isHeld = false);
    lost.setLease = () => Promise.resolve(true);
    const members = [new FakeMember(first), new FakeMember(lost), new FakeMember()];
    expect(await acquire(members, 2, 0)).to.have.property('member', members[1]);
    expect([first.isReleased, lost.isReleased]).to.deep.equal([true, true]);
  });

  it('a single attempt whose lease gets no answer says how long it waited for one', async () => {
    const clock = fakeClock();
    const hold = new FakeHold();
    hold.setLease = () => new Promise(() => undefined);
    const acquiring = acquire([new FakeMember(hold)], 1, 0);
    await clock.tickAsync(2_000);
    const { failure } = (await acquiring) as { failure: Error };
    expect(failure.message).to.contain(
      'No answer from Redis within 1500 ms (set the lease of the locks of a multi-lock)',
    );
  });

  it('C11: last rounds without an answer, each of a moment, do not hide that the servers refuse', async () => {
    const clock = fakeClock();
    const full = Array.from({ length: 3 }, () => new FakeMember());
    for (const member of full) {
      member.takeHold = async (waitMs) => {
        if (waitMs > 150) throw new CommandError('acquire', new Error('OOM command not allowed'));
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        return new CommandTimeoutError('acquire', waitMs, true) as never;
      };
    }
    const taking = acquire(full, 2, 1_000);
    await clock.tickAsync(1_100);
    expect(await taking)
      .to.have.property('failure')
      .that.is.instanceOf(CommandError);
  });

  it('gives back what it has before its time is over, and does not wait longer for a release without a reply', async () => {
    const clock = fakeClock();
    const hold = new FakeHold();
    hold.unlock = () => {
      hold.isReleased = true;
      return new Promise<void>(() => undefined);
    };
    const busy = new FakeMember();
    busy.takeHold = (waitMs) => new Promise((resolve) => setTimeout(() => resolve(undefined), waitMs));
    let outcome: unknown = 'none yet';
    void acquire([new FakeMember(hold), busy], 2, 500).then((failed) => (outcome = failed));
    await clock.tickAsync(449);
    expect([outcome, hold.isReleased]).to.deep.equal(['none yet', false]);
    await clock.tickAsync(50);
    expect([outcome, hold.isReleased]).to.deep.equal(['none yet', true]);
    await clock.tickAsync(1);
    expect(outcome).to.have.property('member', busy);
  });

  it('C11: without limit, a majority without memory is waited for as long as by a lock, and then told', async () => {
    const clock = fakeClock();
    const full = Array.from({ length: 3 }, () => new FakeMember());
    let asked = 0;
    for (const member of full) {
      member.takeHold = () => {
        asked++;
        return Promise.reject(new CommandError('acquire', new Error('OOM command not allowed')));
      };
    }
    const taking = acquire(full, 2, Infinity).catch((reason: unknown) => reason);
    await clock.tickAsync(6_900);
    expect(asked).to.be.within(3 * 40, 3 * 140);
    await clock.tickAsync(300);
    expect(await taking).to.be.instanceOf(CommandError);
  });

  it('without limit, a majority that refuses for now is waited for as long as by a lock, and then told', async () => {
    const clock = fakeClock();
    const refusing = Array.from({ length: 3 }, () => new FakeMember());
    let isBusy = false;
    for (const member of refusing) {
      // As a member without replicas: it is asked again until its time is over.
      member.takeHold = async (waitMs) => {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        return isBusy ? undefined : (new CommandError('acquire', new Error('NOREPLICAS too few')) as never);
      };
    }
    let outcome: unknown = 'none yet';
    void acquire(refusing, 2, Infinity).catch((error: unknown) => (outcome = error));
    // It begins anew where it was only for a while.
    await clock.tickAsync(5_000);
    isBusy = true;
    await clock.tickAsync(5_000);
    isBusy = false;
    await clock.tickAsync(6_900);
    expect(outcome).to.equal('none yet');
    // A try takes up to three seconds.
    await clock.tickAsync(6_000);
    expect(outcome).to.be.instanceOf(CommandError).and.include({ reply: 'NOREPLICAS' });
  });

  it('a refusal of one, and another that is out of reach, are not the end where a majority may still be had', async () => {
    const clock = fakeClock();
    const denied = new FakeMember();
    denied.takeHold = () => Promise.reject(new CommandError('acquire', new Error('NOPERM no right')));
    const far = new FakeMember();
    let isFar = true;
    far.takeHold = async (waitMs) => {
      if (!isFar) return new FakeHold();
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      throw new ConnectionError('out of reach', false);
    };
    const holds = Array.from({ length: 20 }, () => new FakeHold());
    const taking = acquire([denied, far, new FakeMember(...holds)], 2, 10_000);
    await clock.tickAsync(2_000);
    isFar = false;
    await clock.tickAsync(2_000);
    expect(await taking).to.have.length(2);
  });

  it('waits long for what is next in order, and not for what is before a member that it holds', async () => {
    const members = [
      new FakeMember(new FakeHold(), undefined, new FakeHold()),
      new FakeMember(undefined, new FakeHold(), new FakeHold()),
    ];
    const holds = await acquire(members, 2, 60_000);
    expect(holds).to.have.length(2);
    const [first, second] = members.map(({ waits }) => waits);
    // In order; then the busy second one with empty hands, the first one in its shadow; at last the first one again.
    expect(second![0]).to.equal(3_000);
    expect(second![1]).to.be.greaterThan(50_000);
    expect(first![1]).to.be.within(50, 150);
    expect(first![2]).to.be.greaterThan(50_000);
  });
});
