import { expect } from 'chai';
import { ConfigError } from '../../../lib/errors';
import { checkChange, checkCount, permitLease, readSignal } from '../../../lib/synchronizers/callArguments';
import { LATCH } from '../../../lib/kinds/latch';
import { readHoldRequest } from '../../../lib/synchronizers/PermitHold';
import { newThreadId } from '../../../lib/thread/threadScope';
import { newPermitIds, parsePermitId } from '../../../lib/util/permitId';
import { PERMIT } from '../../../lib/kinds/permit';
import { SEMAPHORE } from '../../../lib/kinds/semaphore';
import { TimeUnit } from '../../../lib/util/TimeUnit';

describe('The arguments of synchronizers', () => {
  it('are counts and changes', () => {
    for (const good of [0, 1, Number.MAX_SAFE_INTEGER]) expect(checkCount(good)).to.equal(good);
    for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53, '1', undefined, null, 1n]) {
      expect(() => checkCount(bad, 'count')).to.throw(RangeError, 'count must be a non-negative integer');
    }
    for (const good of [-5, 0, 5]) expect(checkChange(good)).to.equal(good);
    for (const bad of [0.5, NaN, -Infinity, '1', undefined]) expect(() => checkChange(bad)).to.throw(RangeError);
  });

  it('are leases, of which only -1 is none', () => {
    expect(permitLease(-1, undefined)).to.equal(-1);
    expect(permitLease(-1, TimeUnit.DAYS)).to.equal(-1);
    expect(permitLease(0, undefined)).to.equal(0);
    expect(permitLease(-2, undefined)).to.equal(0);
    expect(permitLease(-1_000, TimeUnit.MICROSECONDS)).to.equal(0);
    expect(permitLease(2, TimeUnit.SECONDS)).to.equal(2_000);
    expect(() => permitLease(NaN, undefined)).to.throw(RangeError, 'leaseTime');
    expect(() => permitLease(1, 'SECONDS' as never)).to.throw(TypeError, 'TimeUnit');
  });

  it('are signals', () => {
    const { signal } = new AbortController();
    expect(readSignal(undefined)).to.equal(undefined);
    expect(readSignal(5)).to.equal(undefined);
    expect(readSignal({})).to.equal(undefined);
    expect(readSignal({ signal })).to.equal(signal);
    // Of another realm (jsdom, vm): told by its members, as for locks.
    const foreign = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined };
    expect(readSignal({ signal: foreign as never })).to.equal(foreign);
    for (const bad of ['soon', null, true]) expect(() => readSignal(bad as never)).to.throw(ConfigError);
    expect(() => readSignal({ signal: {} as AbortSignal })).to.throw(ConfigError, 'AbortSignal');
  });

  it('are thread ids, which have no effect, but are checked as those of locks', () => {
    for (const good of [0, 5, 2 ** 32 - 1, newThreadId()]) {
      expect(readSignal(good)).to.equal(undefined);
      expect(readSignal({ threadId: good })).to.equal(undefined);
      expect(readHoldRequest({ threadId: good }).threadId).to.equal(good);
    }
    for (const bad of [NaN, -1, 0.5, 2 ** 53, Infinity]) {
      expect(() => readSignal(bad)).to.throw(RangeError, 'threadId');
      expect(() => readSignal({ threadId: bad })).to.throw(RangeError, 'threadId');
      expect(() => readHoldRequest({ threadId: bad })).to.throw(RangeError, 'threadId');
    }
    expect(() => readSignal({ threadId: '5' as never })).to.throw(RangeError, 'threadId');
  });

  it('are ids: 16 bytes, 32 hex digits', () => {
    const ids = newPermitIds(3);
    expect(ids.map(({ length }) => length)).to.deep.equal([16, 16, 16]);
    expect(new Set(ids.map((id) => id.toString('hex'))).size).to.equal(3);
    for (const id of ids) {
      expect(id.toString('hex')).to.match(/^[0-9a-f]{32}$/);
      expect(parsePermitId(id.toString('hex'))?.equals(id)).to.equal(true);
      expect(parsePermitId(id.toString('hex').toUpperCase())?.equals(id)).to.equal(true);
    }
    for (const none of ['', '1234', 'g'.repeat(32), '0'.repeat(33)]) expect(parsePermitId(none)).to.equal(undefined);
    for (const bad of [undefined, null, 5, Buffer.alloc(16)]) expect(() => parsePermitId(bad)).to.throw(TypeError);
    expect(newPermitIds(0)).to.deep.equal([]);
    expect(() => newPermitIds(1_000_001)).to.throw(RangeError, 'at once');
  });

  it('are names, from which the keys are made', () => {
    expect(SEMAPHORE.keysOf('a')).to.deep.equal({ name: 'a', channel: 'redisson_sc:{a}' });
    expect(PERMIT.keysOf('a')).to.deep.equal({ name: 'a', channel: 'redisson_sc:{a}', permits: '{a}:timeout' });
    expect(PERMIT.keysOf('a{b}')).to.deep.equal({ name: 'a{b}', channel: 'redisson_sc:a{b}', permits: 'a{b}:timeout' });
    expect(LATCH.keysOf('a{b}').channel).to.equal('redisson_countdownlatch__channel__{a{b}}');
  });
});
