import { expect } from 'chai';
import { ConfigError } from '../../../lib/errors';
import { readCaller, readTryLock } from '../../../lib/locks/core/LockEngine';
import { checkThreadId } from '../../../lib/thread/threadScope';
import { newThreadId } from '../../../lib/thread/threadScope';
import { TimeUnit } from '../../../lib/util/TimeUnit';

describe('arguments of calls', () => {
  it('a thread id is an integer of 32 bits, or one that this process has given', () => {
    for (const id of [0, 1, 2 ** 32 - 1, newThreadId()]) expect(checkThreadId(id)).to.equal(id);
    for (const id of [-1, 0.5, NaN, Infinity, 2 ** 32, newThreadId() + 1, '1', null, undefined, 1n]) {
      expect(() => checkThreadId(id), String(id)).to.throw(RangeError);
    }
  });

  it('options are a thread id, or an object with thread id and signal', () => {
    const { signal } = new AbortController();
    expect(readCaller(undefined)).to.deep.equal({ threadId: undefined, signal: undefined });
    expect(readCaller({})).to.deep.equal({ threadId: undefined, signal: undefined });
    expect(readCaller(5)).to.deep.equal({ threadId: 5, signal: undefined });
    expect(readCaller({ threadId: 5, signal })).to.deep.equal({ threadId: 5, signal });
    for (const options of ['5', null, true, () => undefined]) {
      expect(() => readCaller(options as never), String(options)).to.throw(ConfigError);
    }
  });

  it('a signal is told by its looks: that of another realm is as good', () => {
    const foreign = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined };
    expect(readCaller({ signal: foreign as never }).signal).to.equal(foreign);
    for (const signal of [{}, 'abort', 5, null, new AbortController()]) {
      expect(() => readCaller({ signal: signal as never })).to.throw(ConfigError);
    }
  });

  it('tryLock reads all its forms', () => {
    const { signal } = new AbortController();
    const one = { waitMs: 0, waits: false, leaseMs: -1 };
    expect(readTryLock(undefined, undefined, undefined, undefined)).to.deep.equal({ ...one, options: undefined });
    expect(readTryLock({ threadId: 5 }, undefined, undefined, undefined)).to.deep.equal({
      ...one,
      options: { threadId: 5 },
    });
    const wait = { waits: true, leaseMs: -1, options: undefined };
    expect(readTryLock(500, undefined, undefined, undefined)).to.deep.equal({ ...wait, waitMs: 500 });
    expect(readTryLock(0, undefined, undefined, undefined)).to.deep.equal({ ...wait, waitMs: 0 });
    const unit = TimeUnit.SECONDS;
    expect(readTryLock(2, unit, undefined, undefined)).to.deep.equal({ ...wait, waitMs: 2_000 });
    expect(readTryLock(2, 3, unit, { signal })).to.deep.equal({
      waitMs: 2_000,
      waits: true,
      leaseMs: 3_000,
      options: { signal },
    });
    expect(readTryLock(2, undefined, unit, 5)).to.deep.equal({ ...wait, waitMs: 2_000, options: 5 });
    for (const time of [NaN, Infinity, '5', true]) {
      expect(() => readTryLock(time as number, undefined, undefined, undefined)).to.throw(RangeError);
    }
  });
});
