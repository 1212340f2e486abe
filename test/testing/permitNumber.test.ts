import { expect } from 'chai';
import sinon from 'sinon';
import { ConfigError } from '../../lib';
import { createTestRedisson, type TestRedisson } from '../../lib/testing';
import { fakeClock, trackClient, turn } from '../support';

describe('the number of permits', () => {
  let redisson: TestRedisson;
  let warnings: string[];

  beforeEach(() => {
    warnings = [];
    sinon.stub(process, 'emitWarning').callsFake((text: string | Error) => void warnings.push(String(text)));
    redisson = trackClient(createTestRedisson());
  });

  afterEach(() => sinon.restore());

  it('in code is set before the first use, by whichever method', async () => {
    const permits = 2;
    const uses = [
      (name: string) => redisson.getSemaphore(name, { permits }).tryAcquire(2),
      (name: string) => redisson.getSemaphore(name, { permits }).withPermits(2, () => true),
      async (name: string) => (await redisson.getSemaphore(name, { permits }).availablePermits()) === 2,
      async (name: string) => (await redisson.getPermitExpirableSemaphore(name, { permits }).tryAcquire()) !== null,
      (name: string) => redisson.getPermitExpirableSemaphore(name, { permits }).withPermits(2, () => true),
      async (name: string) => (await redisson.getPermitExpirableSemaphore(name, { permits }).getPermits()) === 2,
    ];
    for (const [i, use] of uses.entries()) expect(await use(`s${i}`), String(i)).to.equal(true);
    const handle = redisson.getSemaphore('many', { permits });
    const results = await Promise.all([handle.tryAcquire(), handle.tryAcquire(), handle.tryAcquire()]);
    expect(results).to.deep.equal([true, true, false]);
    expect(warnings).to.deep.equal([]);
  });

  it('in code is set again at the next use if that failed, or the data are gone', async () => {
    const semaphore = redisson.getSemaphore('s', { permits: 1 });
    redisson.failNext(new Error('no'));
    await semaphore.tryAcquire().catch(() => undefined);
    expect(await semaphore.tryAcquire()).to.equal(true);
    redisson.reset();
    expect([await semaphore.tryAcquire(), await semaphore.tryAcquire()]).to.deep.equal([true, false]);
  });

  it('in code is refused at the call, if it is none', () => {
    for (const get of ['getSemaphore', 'getPermitExpirableSemaphore'] as const) {
      for (const permits of [-1, 1.5, '5'] as number[]) {
        expect(() => redisson[get]('s', { permits })).to.throw(RangeError, 'permits');
      }
      expect(() => redisson[get]('s', { permit: 1 } as object)).to.throw(ConfigError, "did you mean 'permits'");
    }
  });

  it('in code changes that of permits with ids, with one warning', async () => {
    const old = redisson.getPermitExpirableSemaphore('s', { permits: 3 });
    const id = await old.acquire();
    for (const permits of [5, 1, 1]) {
      const semaphore = redisson.getPermitExpirableSemaphore('s', { permits });
      expect(await semaphore.availablePermits()).to.equal(permits - 1);
    }
    await old.release(id);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain("'s' had 3 permits").and.contain('not 5');
  });

  it('that is another one than trySetPermits says is told once, with what changes it', async () => {
    const semaphore = redisson.getSemaphore('s');
    await semaphore.trySetPermits(3);
    for (const permits of [3, 4]) expect(await semaphore.trySetPermits(permits)).to.equal(false);
    await turn();
    // One of four may be taken.
    expect(warnings).to.deep.equal([]);
    for (const permits of [2, 1]) expect(await semaphore.trySetPermits(permits)).to.equal(false);
    await turn();
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain("'s' has 3 permits available, not 2").and.contain('addPermits()');
    expect(await semaphore.availablePermits()).to.equal(3);
  });

  it('of permits with ids that is another one: the same', async () => {
    const semaphore = redisson.getPermitExpirableSemaphore('p');
    await semaphore.trySetPermits(3);
    await semaphore.acquire();
    for (const permits of [3, 4]) expect(await semaphore.trySetPermits(permits)).to.equal(false);
    await turn();
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain("'p' has 3 permits, not 4").and.contain('setPermits()');
  });

  it('that nobody has set is told once, after 5 s of waiting', async () => {
    const clock = fakeClock();
    const set = redisson.getSemaphore('set', { permits: 0 });
    const unset = redisson.getSemaphore('unset');
    const waits = [
      set.tryAcquire(1, 20_000),
      unset.tryAcquire(1, 4_000),
      unset.tryAcquire(1, 20_000),
      redisson.getPermitExpirableSemaphore('ids').tryAcquire(20_000),
    ];
    await clock.tickAsync(4_900);
    expect(warnings).to.deep.equal([]);
    await clock.tickAsync(10_000);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain("semaphore 'unset'").and.contain('trySetPermits()');
    await clock.tickAsync(10_000);
    expect(await Promise.all(waits)).to.deep.equal([false, false, false, null]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('is no matter for a call that has got its permits', async () => {
    const clock = fakeClock();
    const semaphore = redisson.getSemaphore('s', { permits: 0 });
    const expirable = redisson.getPermitExpirableSemaphore('p', { permits: 0 });
    const waits = Promise.all([semaphore.acquire(), expirable.acquire()]);
    await clock.tickAsync(100);
    await Promise.all([semaphore.release(), expirable.addPermits(1)]);
    await clock.tickAsync(100);
    await waits;
    redisson.reset();
    await clock.tickAsync(10_000);
    expect(warnings).to.deep.equal([]);
  });
});
