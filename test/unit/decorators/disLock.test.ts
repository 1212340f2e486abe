import { expect } from 'chai';
import { ConfigError, DisLock } from '../../../lib';
import { readDisLockOptions } from '../../../lib/integrations/decorators/disLock';

describe('the options of @DisLock', () => {
  it('have defaults', () => {
    expect(readDisLockOptions({ key: 'a' })).to.deep.equal({
      key: 'a',
      waitTime: undefined,
      leaseTime: -1,
      watchdogMs: undefined,
      maxRenewTimes: 360,
      letsExpire: false,
      atLeast: 0,
      skip: false,
      client: undefined,
    });
  });

  it('are read', () => {
    const key = (): string => 'a';
    const options = {
      key,
      waitTime: 5,
      expire: 100,
      lockWatchdogTimeout: 60,
      maxRenewTimes: 0,
      ifExpireWhenFinish: false,
    };
    expect(readDisLockOptions(options)).to.include({
      key,
      waitTime: 5,
      leaseTime: 100,
      watchdogMs: 60,
      maxRenewTimes: 0,
      letsExpire: true,
    });
    expect(readDisLockOptions({ key, expire: 0 }).leaseTime).to.equal(-1);
    expect(readDisLockOptions({ key, expire: -1, ifExpireWhenFinish: true })).to.include({
      leaseTime: -1,
      letsExpire: false,
    });
  });

  it('are refused where they are written', () => {
    const bad = (options: object, error: new (...args: never[]) => Error, word: string): void => {
      expect(() => DisLock({ key: 'a', ...options })).to.throw(error, word);
    };
    bad({ key: '' }, ConfigError, 'key');
    bad({ key: 5 }, ConfigError, 'key');
    bad({ waitTime: NaN }, RangeError, 'waitTime');
    bad({ expire: Infinity }, RangeError, 'expire');
    bad({ lockWatchdogTimeout: 0 }, ConfigError, 'lockWatchdogTimeout');
    bad({ maxRenewTimes: -1 }, ConfigError, 'maxRenewTimes');
    bad({ ifExpireWhenFinish: 'no' }, ConfigError, 'ifExpireWhenFinish');
    bad({ client: {} }, ConfigError, 'client');
    bad({ ifExpireWhenFinished: true }, ConfigError, "did you mean 'ifExpireWhenFinish'");
    expect(() => DisLock(undefined as never)).to.throw(ConfigError, 'object');
    expect(() => DisLock.use('redis://localhost' as never)).to.throw(ConfigError, 'Redisson');
  });

  it('are refused on anything but a method, in either flavour', () => {
    const decorate = DisLock({ key: 'a' }) as unknown as (...args: unknown[]) => unknown;
    expect(() => decorate(undefined, { kind: 'field', name: 'a' })).to.throw(TypeError, '@DisLock decorates methods');
    // What a compiler with experimentalDecorators passes: the prototype, the name, the descriptor; none for a field.
    expect(() => decorate({}, 'run')).to.throw(TypeError, '@DisLock decorates methods');
    const descriptor = { value: async () => undefined };
    const before = descriptor.value;
    decorate({}, 'run', descriptor);
    expect(descriptor.value).to.be.a('function').and.not.equal(before);
  });
});
