// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer, { type DeferredPromise } from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { CommandError, CommandTimeoutError, ConnectionError } from '../../../lib/errors';
import { type Acquirable, acquireWithin, type Attempt, type Wait, type Wake } from '../../../lib/acquire/acquireWithin';
import { WaitLimit } from '../../../lib/acquire/WaitLimit';
import { fakeClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';

const YES: Attempt<string> = { ok: true, value: 'mine' };

function no(retryInMs = 1_000): Attempt<string> {
  return { ok: false, retryInMs };
}

/** Something to be acquired that answers what the test says, and writes down what happens. */
class FakeAcquirable implements Acquirable<string>, Wait<string> {
  readonly log: string[] = [];
  /** What attempts come to; the last one is repeated. */
  answers: (Attempt<string> | Error | Promise<Attempt<string>>)[] = [no()];
  mustQueue = false;
  isTurn = true;
  waits = true;
  repeatable = true;
  unreachable: Error | undefined;
  listening: Promise<void> | undefined;
  gaveUp: { pending: boolean; doubtful: boolean } | undefined;
  sleeper: DeferredPromise<Wake<string>> | undefined;

  attempt(): Promise<Attempt<string>> {
    this.log.push('attempt');
    const answer = this.answers.length > 1 ? this.answers.shift()! : this.answers[0]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  }

  outage(): Error | undefined {
    return this.unreachable;
  }

  join(): Wait<string> | undefined {
    this.log.push('join');
    return this.waits ? this : undefined;
  }

  giveUp(pending: Promise<Attempt<string>> | undefined, doubtful: boolean): void {
    this.log.push('giveUp');
    this.gaveUp = { pending: pending !== undefined, doubtful };
  }

  listen(): Promise<void> | undefined {
    this.log.push('listen');
    return this.listening;
  }

  sleep(retryInMs: number): Promise<Wake<string>> {
    this.log.push(`sleep ${retryInMs}`);
    this.sleeper = pDefer();
    return this.sleeper.promise;
  }

  leave(): void {
    this.log.push('leave');
  }
}

describe('acquireWithin', () => {
  let clock: SinonFakeTimers;
  let acquirable: FakeAcquirable;

  beforeEach(() => {
    clock = fakeClock();
    acquirable = new FakeAcquirable();
  });

  function acquire(waitMs = Infinity, signal?: AbortSignal): Outcome<string | undefined> {
    return new Outcome(acquireWithin(acquirable, new WaitLimit(waitMs, signal)));
  }

  async function wake(how?: Wake<string>): Promise<void> {
    acquirable.sleeper!.resolve(how);
    await turn();
  }

  afterEach(() => {
    expect(clock.countTimers(), 'timers left').to.equal(0);
  });

  it('takes what is free with one attempt and nothing else', async () => {
    acquirable.answers = [YES];
    const lock = acquire();
    await turn();
    expect(lock.value).to.equal('mine');
    expect(acquirable.log).to.deep.equal(['attempt']);
  });

  it('tells of its success once, and not where it gives up', async () => {
    Object.assign(acquirable, { waits: false, succeeded: () => acquirable.log.push('succeeded') });
    acquirable.answers = [YES, no(1)];
    acquire();
    await turn();
    acquire();
    await turn();
    expect(acquirable.log).to.deep.equal(['attempt', 'succeeded', 'attempt', 'join', 'giveUp']);
  });

  it('makes one attempt where nobody waits', async () => {
    acquirable.waits = false;
    const lock = acquire();
    await turn();
    expect([lock.state, lock.value]).to.deep.equal(['resolved', undefined]);
    expect(acquirable.log).to.deep.equal(['attempt', 'join', 'giveUp']);
  });

  it('subscribes before the second attempt, and sleeps for what that one was told', async () => {
    acquirable.answers = [no(9_000), no(400), YES];
    const lock = acquire();
    await turn();
    expect(acquirable.log).to.deep.equal(['attempt', 'join', 'listen', 'attempt', 'sleep 400']);
    await wake();
    expect(lock.value).to.equal('mine');
    expect(acquirable.log.slice(5)).to.deep.equal(['listen', 'attempt', 'leave']);
  });

  it('waits for the subscription before the second attempt', async () => {
    const subscribed = pDefer<void>();
    acquirable.listening = subscribed.promise;
    acquire();
    await turn();
    expect(acquirable.log).to.deep.equal(['attempt', 'join', 'listen']);
    subscribed.resolve();
    await turn();
    expect(acquirable.log.slice(3)).to.deep.equal(['attempt', 'sleep 1000']);
  });

  it('attempts once per wake-up and sleeps again when that fails', async () => {
    acquire();
    await turn();
    for (let i = 0; i < 3; i++) await wake();
    expect(acquirable.log.slice(5)).to.deep.equal([
      ...['listen', 'attempt', 'sleep 1000'],
      ...['listen', 'attempt', 'sleep 1000'],
      ...['listen', 'attempt', 'sleep 1000'],
    ]);
  });

  it('makes no attempt at all where others wait already, until it is woken', async () => {
    acquirable.mustQueue = true;
    acquirable.isTurn = false;
    acquirable.answers = [YES];
    const lock = acquire();
    await turn();
    expect(acquirable.log).to.deep.equal(['join', 'sleep Infinity']);
    await wake();
    expect(lock.value).to.equal('mine');
    expect(acquirable.log.slice(2)).to.deep.equal(['listen', 'attempt', 'leave']);
  });

  it('sleeps without an attempt when it finds others in the queue after its first one', async () => {
    acquirable.isTurn = false;
    acquire();
    await turn();
    expect(acquirable.log).to.deep.equal(['attempt', 'join', 'sleep Infinity']);
  });

  it('takes the attempt that somebody made for it, without one of its own', async () => {
    const lock = acquire();
    await turn();
    await wake({ attempt: Promise.resolve(YES) });
    expect(lock.value).to.equal('mine');
    expect(acquirable.log.slice(5)).to.deep.equal(['leave']);
  });

  it('goes on when the attempt that somebody made for it failed', async () => {
    const lock = acquire();
    await turn();
    await wake({ attempt: Promise.resolve(no(1)) });
    expect(lock.state).to.equal('pending');
    expect(acquirable.log.slice(5)).to.deep.equal(['sleep 1']);
  });

  describe('a deadline', () => {
    it('ends the sleep, however long the ttl, and is followed by no attempt', async () => {
      const lock = acquire(500);
      await clock.tickAsync(499);
      expect(lock.state).to.equal('pending');
      const attempts = acquirable.log.length;
      await clock.tickAsync(1);
      expect([lock.state, lock.value]).to.deep.equal(['resolved', undefined]);
      expect(acquirable.log.slice(attempts)).to.deep.equal(['giveUp', 'leave']);
      expect(acquirable.gaveUp).to.deep.equal({ pending: false, doubtful: false });
    });

    it('that has passed when it is woken allows no attempt', async () => {
      const lock = acquire(500);
      await turn();
      const attempts = acquirable.log.filter((event) => event === 'attempt').length;
      clock.setSystemTime(0);
      acquirable.sleeper!.resolve(undefined);
      clock.jump(500);
      await turn();
      expect(lock.state).to.equal('resolved');
      expect(acquirable.log.filter((event) => event === 'attempt')).to.have.length(attempts);
    });

    it('ends the wait for a subscription', async () => {
      acquirable.listening = new Promise(() => undefined);
      const lock = acquire(500);
      await clock.tickAsync(500);
      expect(lock.value).to.equal(undefined);
      expect(acquirable.log.slice(-2)).to.deep.equal(['giveUp', 'leave']);
    });

    it('does not wait for an attempt that hangs, and has it undone', async () => {
      acquirable.answers = [new Promise(() => undefined)];
      const lock = acquire(500);
      await clock.tickAsync(500);
      expect([lock.state, lock.value]).to.deep.equal(['resolved', undefined]);
      expect(acquirable.gaveUp).to.deep.equal({ pending: true, doubtful: false });
    });

    it('that finds an attempt without a server to send it to is an error, not an answer', async () => {
      acquirable.answers = [new Promise(() => undefined)];
      acquirable.unreachable = new ConnectionError('nobody there', false);
      const lock = acquire(500);
      await clock.tickAsync(500);
      expect(lock.error).to.equal(acquirable.unreachable);
      expect(acquirable.gaveUp).to.deep.equal({ pending: true, doubtful: false });
    });

    it('in its sleep is an answer, wherever the server is by now', async () => {
      acquirable.unreachable = new ConnectionError('nobody there', false);
      const lock = acquire(500);
      await clock.tickAsync(500);
      expect([lock.state, lock.value]).to.deep.equal(['resolved', undefined]);
    });

    it('ends a wait behind others', async () => {
      acquirable.mustQueue = true;
      acquirable.isTurn = false;
      const lock = acquire(500);
      await clock.tickAsync(500);
      expect(lock.value).to.equal(undefined);
      expect(acquirable.log).to.deep.equal(['join', 'sleep Infinity', 'giveUp', 'leave']);
    });
  });

  describe('a signal', () => {
    const reason = new Error('stop');

    it('that has aborted before allows nothing', async () => {
      const lock = acquire(Infinity, AbortSignal.abort(reason));
      await turn();
      expect(lock.error).to.equal(reason);
      expect(acquirable.log).to.deep.equal(['giveUp']);
    });

    for (const [when, prepare] of [
      ['during an attempt', (): void => void (acquirable.answers = [new Promise(() => undefined)])],
      ['while it subscribes', (): void => void (acquirable.listening = new Promise(() => undefined))],
      ['during the sleep', (): void => undefined],
      ['behind others', (): void => void ([acquirable.mustQueue, acquirable.isTurn] = [true, false])],
    ] as const) {
      it(`ends the wait ${when}, with its reason`, async () => {
        prepare();
        const stop = new AbortController();
        const lock = acquire(60_000, stop.signal);
        await turn();
        expect(lock.state).to.equal('pending');
        stop.abort(reason);
        await turn();
        expect(lock.error).to.equal(reason);
        expect(acquirable.log.filter((event) => event === 'giveUp')).to.have.length(1);
        expect(acquirable.gaveUp!.pending).to.equal(when === 'during an attempt');
      });
    }
  });

  for (let steps = 0; steps < 6; steps++) {
    it(`an abort ${steps} microtasks after its turn has come is followed by no attempt`, async () => {
      const stop = new AbortController();
      const lock = acquire(Infinity, stop.signal);
      await turn();
      const attempts = (): number => acquirable.log.filter((event) => event === 'attempt').length;
      acquirable.sleeper!.resolve(undefined);
      for (let i = 0; i < steps; i++) await Promise.resolve();
      const before = attempts();
      stop.abort('enough');
      await turn();
      expect([lock.error, attempts()]).to.deep.equal(['enough', before]);
      expect(acquirable.log.slice(-2)).to.deep.equal(['giveUp', 'leave']);
    });
  }

  describe('an error', () => {
    it('of a first attempt ends the wait; whether it ran is for giveUp to judge', async () => {
      const error = new ConnectionError('lost', true);
      acquirable.answers = [error];
      const lock = acquire();
      await turn();
      expect(lock.error).to.equal(error);
      expect(acquirable.gaveUp).to.deep.equal({ pending: true, doubtful: false });
    });

    for (const [code, when, pending] of [
      ['OOM', 'before the first write leaves nothing to undo', false],
      ['NOPERM', 'that may come in the middle of a script is for giveUp to judge', true],
    ] as const) {
      it(`that is an answer of Redis ${when}`, async () => {
        acquirable.answers = [no(), new CommandError('acquire', new Error(`${code} not now`))];
        const lock = acquire();
        await turn();
        expect(lock.error).to.be.instanceOf(CommandError);
        expect(acquirable.gaveUp).to.deep.equal({ pending, doubtful: false });
        expect(acquirable.log.at(-1)).to.equal('leave');
      });
    }

    it('of the subscription ends the wait', async () => {
      acquirable.listening = Promise.reject(new Error('refused'));
      const lock = acquire();
      await turn();
      expect(lock.error).to.have.property('message', 'refused');
      expect(acquirable.log.slice(-2)).to.deep.equal(['giveUp', 'leave']);
    });

    it('of an attempt that nobody waits for any more is nobody’s', async () => {
      const late = pDefer<Attempt<string>>();
      acquirable.answers = [late.promise];
      const lock = acquire(100);
      await clock.tickAsync(100);
      expect(lock.value).to.equal(undefined);
      late.reject(new Error('late'));
      await turn();
    });
  });

  describe('an attempt without an answer', () => {
    const timeout = new CommandTimeoutError('acquire', 3_000, true);

    it('is told where it was the first of a wait without limit', async () => {
      acquirable.answers = [timeout];
      const lock = acquire();
      await turn();
      expect(lock.error).to.equal(timeout);
      expect(acquirable.gaveUp).to.deep.equal({ pending: true, doubtful: true });
    });

    it('is told where nobody waits', async () => {
      acquirable.waits = false;
      acquirable.answers = [timeout];
      const lock = acquire();
      await turn();
      expect(lock.error).to.equal(timeout);
    });

    for (const [which, answers] of [
      ['the first', [timeout, no(), YES]],
      ['a later one', [no(), timeout, no(), YES]],
    ] as const) {
      it(`A9: does not end a wait with a deadline, be it ${which}: another follows after a pause`, async () => {
        acquirable.answers = [...answers];
        const lock = acquire(60_000);
        await turn();
        expect([lock.state, acquirable.log.at(-1)]).to.deep.equal(['pending', 'sleep 500']);
        await wake();
        expect(acquirable.log.slice(-2)).to.deep.equal(['attempt', 'sleep 1000']);
        await wake();
        expect(lock.value).to.equal('mine');
      });
    }

    it('A9: is undone where the deadline comes before another is answered', async () => {
      acquirable.answers = [timeout];
      const lock = acquire(60_000);
      await clock.tickAsync(60_000);
      expect([lock.state, lock.value]).to.deep.equal(['resolved', undefined]);
      expect(acquirable.gaveUp).to.deep.equal({ pending: false, doubtful: true });
    });

    it('A9: of the first one, that nobody may follow out of turn, is asked for again all the same', async () => {
      acquirable.isTurn = false;
      acquirable.answers = [timeout, YES];
      const lock = acquire(60_000);
      await turn();
      expect(acquirable.log).to.deep.equal(['attempt', 'join', 'sleep 500']);
      await wake();
      expect(lock.value).to.equal('mine');
    });

    it('is followed by another after a pause where there is no deadline', async () => {
      acquirable.answers = [no(), timeout, YES];
      const lock = acquire();
      await turn();
      expect(acquirable.log.at(-1)).to.equal('sleep 500');
      await wake();
      expect(lock.value).to.equal('mine');
    });

    it('is told where a repeat would count twice', async () => {
      acquirable.repeatable = false;
      acquirable.answers = [no(), timeout];
      const lock = acquire(60_000);
      await turn();
      expect(lock.error).to.equal(timeout);
    });
  });
});
