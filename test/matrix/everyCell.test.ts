import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Config, Redisson } from '../../lib';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, TIMEOUT_MS } from '../cli/support/CliProcess';
import { LOCK_KINDS } from '../faults/kinds';
import { allowLeftovers, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { askServer, knowsShards, nameOn } from '../support/clusterTools';
import { type Place, placesOf, topology } from './places';

/** Nothing here waits for it: who gets in after less was woken. */
const LEASE = { leaseTime: 60_000 };
/** Far less than the lease, and generous for a loaded machine. */
const SOON_MS = 20_000;

for (const [number, { name: where, open }] of placesOf(topology).entries())
  describe(`what must hold on every server (${where})`, function () {
    this.timeout(3 * TIMEOUT_MS);
    let place: Place;

    before(async () => {
      place = await open();
    });

    function client(more = ''): Redisson {
      return trackClient(Redisson.create(Config.fromYAML(`${more}${place.yaml}`)));
    }

    function onAll(command: string, ...args: string[]): Promise<unknown> {
      return Promise.all(place.masters.map((one) => askServer(one, (redis) => redis.call(command, ...args))));
    }

    /** On a cluster: of one of its nodes in turn, so that all have to do. */
    async function name(): Promise<string> {
      const { cluster: nodes, masters } = place;
      return nodes === undefined ? uniqueName() : nameOn(nodes, masters[turn++ % masters.length]!);
    }
    let turn = 0;

    for (const kind of LOCK_KINDS) {
      it(`${kind.title}: one is inside, and who waits gets in with its release`, async () => {
        if (kind.fenced) allowLeftovers({ keys: /redisson_lock_token/ });
        const [one, other] = [client(), client()];
        const called = await name();
        const held = await kind.rival(one, called).acquire(LEASE);
        const lock = kind.of(other, called);
        expect(await lock.tryLock()).to.equal(false);
        let inside = false;
        const waiting = lock.acquire({ ...LEASE, waitTime: SOON_MS }).then((hold) => {
          inside = true;
          return hold;
        });
        expect(await other.getLock(await name()).isLocked()).to.equal(false);
        expect(inside).to.equal(false);
        await held.unlock();
        const hold = await waiting;
        expect(await kind.rival(one, called).tryLock()).to.equal(false);
        await hold.unlock();
        await (await kind.rival(one, called).acquire({ ...LEASE, waitTime: 0 })).unlock();
      });
    }

    it('a semaphore, permits that expire and a latch: who waits is woken', async () => {
      const [one, other] = [client(), client()];
      const semaphore = await name();
      await one.getSemaphore(semaphore).trySetPermits(1);
      await one.getSemaphore(semaphore).acquire();
      const waiting = other.getSemaphore(semaphore).tryAcquire(1, SOON_MS);
      await one.getSemaphore(semaphore).release();
      expect(await waiting).to.equal(true);

      const permits = await name();
      await one.getPermitExpirableSemaphore(permits).trySetPermits(1);
      const id = await one.getPermitExpirableSemaphore(permits).acquire();
      const next = other.getPermitExpirableSemaphore(permits).tryAcquire(SOON_MS);
      await one.getPermitExpirableSemaphore(permits).release(id);
      expect(await next).to.be.a('string');

      const latch = await name();
      await one.getCountDownLatch(latch).trySetCount(1);
      const open = other.getCountDownLatch(latch).await(SOON_MS);
      await one.getCountDownLatch(latch).countDown();
      expect(await open).to.equal(true);
      await Promise.all([one.getSemaphore(semaphore).delete(), one.getPermitExpirableSemaphore(permits).delete()]);
    });

    it('a holder and a waiter outlive the end of all their connections', async () => {
      const [one, other] = [client(), client()];
      const called = await name();
      const held = await one.getLock(called).acquire(LEASE);
      const waiting = other.getLock(called).acquire({ ...LEASE, waitTime: SOON_MS });
      for (const type of ['pubsub', 'normal']) await onAll('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
      await held.unlock();
      await (await waiting).unlock();
      expect(await one.getLock(called).isLocked()).to.equal(false);
    });

    it('scripts that the server has forgotten are sent again', async () => {
      const lock = client().getLock(await name());
      const hold = await lock.acquire(LEASE);
      await onAll('SCRIPT', 'FLUSH');
      await hold.unlock();
      await onAll('SCRIPT', 'FLUSH');
      await (await lock.acquire(LEASE)).unlock();
    });

    if (topology === 'cluster') {
      it('wake-ups of a cluster go by sharded messages where the server knows them, else by classic ones', async () => {
        const nodes = place.cluster!;
        const [one, other] = [client(), client()];
        const called = await name();
        const held = await one.getLock(called).acquire(LEASE);
        const waiting = other.getLock(called).acquire({ ...LEASE, waitTime: SOON_MS });
        const sharded = await knowsShards(nodes);
        const list = sharded ? 'SHARDCHANNELS' : 'CHANNELS';
        await sleepUntil(
          async () => {
            const channels = nodes.masters.map((node) =>
              askServer(node, (redis) => redis.call('PUBSUB', list, `*${called}*`)),
            );
            return ((await Promise.all(channels)) as string[][]).flat().length > 0;
          },
          { timeout: SOON_MS, message: `PUBSUB ${list} names the channel of ${called}` },
        );
        await held.unlock();
        await (await waiting).unlock();
      });
    }

    // These take seconds, and are the same behind every profile.
    if (number > 0) return;

    it('the watchdog renews', async () => {
      const lock = client('lockWatchdogTimeout: 6000\n').getLock(await name());
      const hold = await lock.acquire();
      await sleepUntil(async () => (await lock.remainTimeToLive()) < 5_000, { timeout: SOON_MS });
      await sleepUntil(async () => (await lock.remainTimeToLive()) > 5_000, { timeout: SOON_MS });
      expect(hold.isHeld).to.equal(true);
      await hold.unlock();
    });

    it('trackHolds: a hold that is released by force is lost at once; permits are held and renewed', async () => {
      // Far shorter than the time until the next renewal.
      const soon = { timeout: 5_000 };
      const [holder, other] = [client('trackHolds: true\n'), client()];
      const called = await name();
      const hold = await holder.getLock(called).acquire();
      const semaphore = holder.getPermitExpirableSemaphore(await name());
      await semaphore.trySetPermits(2);
      const permits = await semaphore.acquireHold({ permits: 2 });
      // Until Redis tracks the keys.
      await sleep(500);
      expect(hold.isHeld && permits.isHeld).to.equal(true);
      expect(await other.getLock(called).forceUnlock()).to.equal(true);
      // Behind a managed service the command may be refused: then the next renewal finds it.
      if (topology !== 'managed') await sleepUntil(() => hold.signal.aborted, soon);
      await hold.unlock().catch(() => undefined);
      await permits.release();
      expect(await semaphore.availablePermits()).to.equal(2);
    });

    it('a hold moves to another client by ticket, and nobody gets in between', async () => {
      const [one, other] = [client(), client()];
      const called = await name();
      const ticket = await (await one.getFairLock(called).acquire()).detach(LEASE);
      expect(await one.getFairLock(called).tryLock()).to.equal(false);
      const taken = await other.attach(ticket);
      expect(await one.getFairLock(called).tryLock()).to.equal(false);
      await taken.unlock();
      expect(await one.getFairLock(called).isLocked()).to.equal(false);
    });

    it('the command runs another under a lock', async () => {
      ensureBuilt();
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-cell-'));
      try {
        const file = path.join(folder, 'redisson.yaml');
        fs.writeFileSync(file, place.yaml);
        const called = await name();
        const lock = client().getLock(called);
        const script = 'echo "inside $IOREDISSON_LOCK"; exit 3';
        const run = (): ReturnType<typeof cli> => cli(['run', '-c', file, '-w', '0', called, '--', 'sh', '-c', script]);
        const hold = await lock.acquire(LEASE);
        expect((await run()).stdout).to.equal('');
        await hold.unlock();
        expect(await run()).to.deep.include({ code: 3, stdout: `inside ${called}\n` });
        expect(await lock.isLocked()).to.equal(false);
      } finally {
        fs.rmSync(folder, { recursive: true, force: true });
      }
    });
  });
