import { expect } from 'chai';
import type { Redisson } from '../../lib';
import { type AuditEntry, createDashboard } from '../../lib/operators/dashboard';
import { ensureBuilt } from '../../tools/buildOutput';
import { ask, changeHeaders, client, serve } from '../dashboard/support/world';
import { allowLeftovers, sleepUntil, trackClient, uniqueName } from '../support';
import { cli, type CliEnd } from './support/CliProcess';

describe('permits that do not come back, a latch that nobody counts down', function () {
  this.timeout(120_000);
  before(() => void ensureBuilt());

  let redisson: Redisson;
  beforeEach(() => {
    allowLeftovers({ keys: /./ });
    redisson = client();
  });

  it('ioredisson permits --add: those who wait get them', async () => {
    const semaphore = redisson.getSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const got = client().getSemaphore(semaphore.name).acquire();
    expect(await cli(['permits', semaphore.name, '--add', '2', '--force'])).to.deep.include({ code: 0, stderr: '' });
    await got;
    expect(await semaphore.availablePermits()).to.equal(1);
    const { stdout } = await cli(['permits', semaphore.name, '--add', '1', '--force', '--json']);
    expect(JSON.parse(stdout)).to.include({ action: 'addPermits', permits: 1, changed: true, value: 2 });
  });

  it('ioredisson permits --release: the permit with that id, once', async () => {
    const semaphore = redisson.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire();
    const release = (): Promise<CliEnd> => cli(['permits', semaphore.name, '--release', id, '--force']);
    expect(await release()).to.deep.include({ code: 0, stderr: '' });
    expect(await semaphore.availablePermits()).to.equal(1);
    const again = await release();
    expect([again.code, again.stderr]).to.deep.equal([
      65,
      `ioredisson: '${semaphore.name}' is a number, which has no permits with an id\n`,
    ]);
  });

  it('ioredisson latch --open: those who wait go on', async () => {
    const latch = redisson.getCountDownLatch(uniqueName());
    await latch.trySetCount(2);
    const gone = client().getCountDownLatch(latch.name).await();
    await sleepUntil(async () => (await cli(['latch', latch.name])).stdout.includes('1 connection waits'), {
      timeout: 30_000,
    });
    expect((await cli(['latch', latch.name, '--open', '--force'])).stdout).to.equal(
      `'${latch.name}' is open; Nothing is held by that name.\n`,
    );
    await gone;
    expect((await cli(['latch', latch.name, '--open', '--force'])).code).to.equal(65);
  });

  it('not without --force, and not to what is something else', async () => {
    const lock = redisson.getLock(uniqueName());
    await lock.lock();
    expect(await cli(['permits', lock.name, '--add', '1'])).to.include({ code: 64 });
    expect(await cli(['latch', lock.name, '--open'])).to.include({ code: 64 });
    expect(await cli(['permits', lock.name, '--add', '0', '--force'])).to.include({ code: 64 });
    const { code, stderr } = await cli(['permits', lock.name, '--add', '1', '--force']);
    expect(code).to.equal(65);
    expect(stderr).to.contain('has no permits: ioredisson unlock --force');
    expect(await cli(['latch', lock.name, '--open', '--force'])).to.include({ code: 65 });
    expect(await lock.isLocked()).to.equal(true);
    const released = await cli(['unlock', '--force', lock.name]);
    // Whose it was: the process, and its owner in Redis.
    expect(released.stdout).to.match(new RegExp(`it was taken from \\S+/${process.pid} \\(${redisson.getId()}:`));
  });

  it('the page: with the typed name, a token, and a line in the audit; nothing of it where it is read-only', async () => {
    const entries: AuditEntry[] = [];
    const audit = (entry: AuditEntry): void => void entries.push(entry);
    const serveOne = (readOnly: boolean): Promise<string> =>
      serve(trackClient(createDashboard({ redisson, readOnly, audit, identify: () => 'ada' })));
    const base = await serveOne(false);
    const remedy = async (to: string, body: object, headers = {}): Promise<[number, Record<string, unknown>]> => {
      const all = { ...(await changeHeaders(to)), ...headers };
      const { status, text } = await ask(`${to}/api/remedy`, {
        method: 'POST',
        headers: all,
        body: JSON.stringify(body),
      });
      return [status, JSON.parse(text) as Record<string, unknown>];
    };
    const semaphore = redisson.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    const permitId = await semaphore.acquire();
    const { name } = semaphore;
    const give = { name, confirm: name, action: 'releasePermit', permitId };
    expect((await remedy(await serveOne(true), give, { 'x-ioredisson-token': 'x' }))[0]).to.equal(403);
    expect((await remedy(base, give, { 'x-ioredisson-token': 'x' }))[0]).to.equal(403);
    expect((await remedy(base, give, { origin: 'https://evil.example' }))[0]).to.equal(403);
    for (const wrong of [
      { confirm: 'x' },
      { action: 'unlock' },
      { permitId: 'x' },
      { action: 'addPermits', permits: 0 },
    ]) {
      expect((await remedy(base, { ...give, ...wrong }))[0], JSON.stringify(wrong)).to.equal(400);
    }
    expect((await remedy(base, { ...give, action: 'openLatch' }))[0]).to.equal(409);
    expect(entries).to.deep.equal([]);
    expect(await remedy(base, give)).to.deep.equal([200, { name, changed: true }]);
    expect(await semaphore.availablePermits()).to.equal(1);
    expect((await remedy(base, { name, confirm: name, action: 'addPermits', permits: 2 }))[0]).to.equal(200);
    const latch = redisson.getCountDownLatch(uniqueName());
    await latch.trySetCount(1);
    const open = { name: latch.name, confirm: latch.name, action: 'openLatch' };
    expect(await remedy(base, open)).to.deep.equal([200, { name: latch.name, changed: true }]);
    expect(await latch.getCount()).to.equal(0);
    expect(
      entries.map(({ action, permits, permitId: id, changed, by }) => [action, permits ?? id, changed, by]),
    ).to.deep.equal([
      ['releasePermit', permitId, true, 'ada'],
      ['addPermits', 2, true, 'ada'],
      ['openLatch', undefined, true, 'ada'],
    ]);
  });
});
