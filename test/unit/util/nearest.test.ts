import { expect } from 'chai';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { ACQUIRE_OPTIONS, checkOptionNames, RUN_OPTIONS, THREAD_OPTIONS } from '../../../lib/config/optionNames';
import { readDisLockOptions } from '../../../lib/integrations/decorators/disLock';
import { editDistance, nearest } from '../../../lib/util/describe';

describe('nearest', () => {
  it('counts edits', () => {
    expect(editDistance('', '')).to.equal(0);
    expect(editDistance('', 'abc')).to.equal(3);
    expect(editDistance('abc', '')).to.equal(3);
    expect(editDistance('kitten', 'sitting')).to.equal(3);
    expect(editDistance('flaw', 'lawn')).to.equal(2);
    expect(editDistance('same', 'same')).to.equal(0);
  });

  it('finds what was meant', () => {
    const known = ['timeout', 'connectTimeout', 'lockWatchdogTimeout', 'password'];
    expect(nearest('timout', known)).to.equal('timeout');
    expect(nearest('lockWatchDogTimeout', known)).to.equal('lockWatchdogTimeout');
    expect(nearest('pasword', new Set(known))).to.equal('password');
  });

  it('takes the first of equally near ones, and none of none', () => {
    expect(nearest('watTime', ['wutTime', 'wetTime'])).to.equal('wutTime');
    expect(nearest('a', [])).to.equal(undefined);
  });
});

describe('words of other libraries (F8)', () => {
  const said = (name: string, known: ReadonlySet<string> = RUN_OPTIONS): string => {
    try {
      checkOptionNames({ [name]: 1 }, known);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error(`${name} is accepted`);
  };

  const LEASE = ['ttl', 'duration', 'lockTimeout', 'lockAtMostFor', 'stale', 'expiry', 'releaseTime'];
  const WAIT = ['acquireTimeout', 'acquireAttemptsLimit', 'timeout', 'retryCount', 'retryDelay', 'retryJitter'];
  for (const [right, words] of Object.entries({
    leaseTime: LEASE,
    waitTime: [...WAIT, 'retryInterval', 'retryAttempts', 'retries', 'maxAttempts', 'maxWait'],
    atLeast: ['lockAtLeastFor'],
    unit: ['timeUnit'],
  })) {
    for (const word of words) {
      it(`${word} is ${right}`, () => expect(said(word)).to.include(`'${word}'; did you mean '${right}'?`));
    }
  }

  it('says what a lease means here', () => {
    expect(said('ttl')).to.match(/'leaseTime'\? Without it a lock is renewed while it is held\.$/);
  });

  it('says what does the work of refreshInterval, automaticExtensionThreshold, onLockLost and onCompromised', () => {
    for (const word of ['refreshInterval', 'automaticExtensionThreshold', 'extensionThreshold'])
      expect(said(word)).to.equal(`Unknown option '${word}'; a lock without leaseTime is renewed`);
    for (const word of ['onLockLost', 'onCompromised'])
      expect(said(word)).to.equal(`Unknown option '${word}'; hold.signal aborts when the lock is lost`);
  });

  it('suggests nothing where nothing is near, and says what there is', () => {
    for (const word of ['driftFactor', 'identifier', 'realpath', 'x', 'suffix'])
      expect(said(word, ACQUIRE_OPTIONS)).to.match(
        new RegExp(`^Unknown option '${word}'; there is threadId, signal, waitTime, `),
      );
    expect(said('ttl', new Set(['drain']))).to.equal("Unknown option 'ttl'; there is drain");
  });

  it('times that are arguments are said to be arguments', () => {
    for (const word of ['leaseTime', 'lockTimeout', 'acquireTimeout', 'waitTimes'])
      expect(said(word, THREAD_OPTIONS)).to.include('here times are arguments before the options');
  });

  it('settings: keyPrefix is nameMapper; the times of a lock are no settings', () => {
    const set = (name: string) => () => resolveConfig({ [name]: 1 });
    expect(set('keyPrefix')).to.throw("Unknown setting 'keyPrefix'; did you mean 'nameMapper'?");
    for (const word of ['ttl', 'lockTimeout', 'retryCount']) expect(set(word)).to.throw(/^Unknown setting '\w+'$/);
  });

  it('@DisLock: ttl is expire', () => {
    expect(() => readDisLockOptions({ key: 'a', ttl: 1 } as never)).to.throw("no option 'ttl'; did you mean 'expire'?");
  });
});
