import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { inspect } from 'node:util';
import * as errors from '../../../lib/errors';
import {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  IllegalMonitorStateError,
  LockLostError,
  LockTimeoutError,
  NoSyncedReplicasError,
  PermitNotFoundError,
  RedissonError,
  ShutdownError,
  SubscriptionTimeoutError,
  UnsupportedOperationError,
} from '../../../lib/errors';

const CLIENT = '3c2e0c5e-6f5b-4f0e-9d3a-0a1b2c3d4e5f';
const cause = new Error('ECONNRESET');

const each: ReadonlyArray<readonly [error: RedissonError, name: string, code: string]> = [
  [IllegalMonitorStateError.notOwner(CLIENT, 7, 'orders'), 'IllegalMonitorStateError', 'ILLEGAL_MONITOR_STATE'],
  [new LockTimeoutError('a', 500), 'LockTimeoutError', 'LOCK_TIMEOUT'],
  [new LockLostError('a', 7, 'it expired'), 'LockLostError', 'LOCK_LOST'],
  [new SubscriptionTimeoutError('c', 7500), 'SubscriptionTimeoutError', 'SUBSCRIPTION_TIMEOUT'],
  [new CommandTimeoutError("acquire lock 'a'", 3000, true), 'CommandTimeoutError', 'COMMAND_TIMEOUT'],
  [new CommandError("acquire lock 'a'", cause), 'CommandError', 'COMMAND'],
  [new ConnectionError('no route', false), 'ConnectionError', 'CONNECTION'],
  [new NoSyncedReplicasError("acquire lock 'a'", 1000), 'NoSyncedReplicasError', 'NO_SYNCED_REPLICAS'],
  [new PermitNotFoundError('s', ['ab']), 'PermitNotFoundError', 'PERMIT_NOT_FOUND'],
  [new UnsupportedOperationError('MultiLock', 'getHoldCount'), 'UnsupportedOperationError', 'UNSUPPORTED_OPERATION'],
  [new ConfigError('no'), 'ConfigError', 'CONFIG'],
  [new ShutdownError(), 'ShutdownError', 'SHUTDOWN'],
];

describe('errors', () => {
  for (const [error, name, code] of each) {
    it(`${name} has its name and code and is a RedissonError`, () => {
      expect(error).to.be.instanceOf(RedissonError).and.instanceOf(Error);
      expect(error.name).to.equal(name);
      expect(error.code).to.equal(code);
      expect(error.message).to.not.equal('');
    });

    it(`${name} prints under its name and not under its base's`, () => {
      expect(error.stack).to.match(new RegExp(`^${name}: `));
      expect(inspect(error)).to.contain(`code: '${code}'`);
      expect(Object.keys(error)).to.not.include('name');
    });
  }

  it('exports every class, and nothing that is not tested here', () => {
    const names = each.map(([, name]) => name);
    expect(Object.keys(errors).toSorted()).to.deep.equal([...names, 'RedissonError'].toSorted());
  });

  it('a not-owner error has the text of Redisson, word for word', () => {
    expect(IllegalMonitorStateError.notOwner(CLIENT, 7, 'orders').message).to.equal(
      `attempt to unlock lock, not locked by current thread by node id: ${CLIENT} thread-id: 7`,
    );
  });

  it('a non-reentrant error has the text of Redisson', () => {
    expect(IllegalMonitorStateError.nonReentrant('a', 7, 'orders').message).to.equal(
      "Lock 'a' is non-reentrant and is already held by thread 7",
    );
  });

  it('misuse of threads names the lock and what to do', () => {
    for (const error of [
      IllegalMonitorStateError.notOwner(CLIENT, 7, 'orders'),
      IllegalMonitorStateError.nonReentrant('mapped:orders', 7, 'orders'),
      IllegalMonitorStateError.acquisitionPending('orders', 7),
      IllegalMonitorStateError.besideSection('orders', 7),
      IllegalMonitorStateError.handleReentry('orders', 7),
    ]) {
      expect(error.lockName).to.equal('orders');
    }
    expect(IllegalMonitorStateError.acquisitionPending('orders', 7).message).to.match(/'orders'.*thread 7.*withLock/);
    expect(IllegalMonitorStateError.handleReentry('orders', 7).message).to.match(/'orders'.*strictThreads.*withLock/);
  });

  it('LockTimeoutError names the lock and the time', () => {
    const error = new LockTimeoutError('orders', 500, { cause });
    expect(error).to.include({ lockName: 'orders', waitTime: 500, cause });
    expect(error.message).to.match(/'orders'.*500 ms/);
    expect(new LockTimeoutError('orders', 500).reason).to.equal('held');
    expect(error.reason).to.equal('unanswered');
    const refusal = new CommandError('acquire', new Error('NOREPLICAS Not enough good replicas to write.'));
    expect(new LockTimeoutError('orders', 500, { cause: refusal }).reason).to.equal('refused');
  });

  it('LockLostError carries lock, thread and cause', () => {
    const error = new LockLostError('orders', 7, 'its renewal failed', { cause });
    expect(error).to.include({ lockName: 'orders', threadId: 7, cause });
    expect(error.message).to.match(/'orders'.*thread 7.*its renewal failed/);
  });

  it('an error without cause has no property of that name', () => {
    expect('cause' in new LockLostError('orders', 7, 'x')).to.equal(false);
  });

  it('tells whether a command may have run', () => {
    expect(new ConnectionError('x', true).mayHaveRun).to.equal(true);
    expect(new ConnectionError('x', false).mayHaveRun).to.equal(false);
    expect(new CommandTimeoutError('x', 1, true).mayHaveRun).to.equal(true);
    expect(new CommandTimeoutError('x', 1, false).mayHaveRun).to.equal(false);
  });

  it('timeouts name the setting to increase', () => {
    expect(new CommandTimeoutError('x', 3000, true).message).to.match(/3000 ms.*'timeout'/);
    expect(new SubscriptionTimeoutError('chan', 7500).message).to.match(/'chan'.*7500 ms.*'subscriptionTimeout'/);
    expect(new NoSyncedReplicasError('x', 1000).message).to.match(/'slavesSyncTimeout'.*'checkLockSyncedSlaves'/);
  });

  it("a name of another type keeps Redis' reply as cause", () => {
    const reply = new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
    const error = CommandError.wrongType('orders', reply);
    expect(error.cause).to.equal(reply);
    expect(error.message).to.match(/'orders'.*WRONGTYPE/);
  });

  it('PermitNotFoundError tells one id from several, as Redisson does', () => {
    expect(new PermitNotFoundError('s', ['ab']).message).to.match(/^Permit with id ab has already been released/);
    const several = new PermitNotFoundError('s', ['ab', 'cd']);
    expect(several.message).to.match(/^Permits with ids \[ab, cd\] have already been released/);
    expect(several.permitIds).to.deep.equal(['ab', 'cd']);
    expect(several.semaphoreName).to.equal('s');
  });

  it('UnsupportedOperationError can say what to do instead', () => {
    expect(new UnsupportedOperationError('MultiLock', 'getName').message).to.equal(
      'A MultiLock does not support getName()',
    );
    expect(new UnsupportedOperationError('MultiLock', 'getName', 'ask its locks').message).to.match(/: ask its locks$/);
  });

  it('ShutdownError says what was being done', () => {
    expect(new ShutdownError("acquire lock 'a'").message).to.contain("acquire lock 'a'");
  });

  it('docs/errors.md names all', () => {
    const page = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'docs', 'errors.md'), 'utf8');
    for (const name of Object.keys(errors)) expect(page).to.contain(`\`${name}\``);
  });
});
