import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ConfigError, Redisson, UnsupportedOperationError } from '../../../lib';
import { Inspector } from '../../../lib/operators/inspection';
import { redisUrl, sleepUntil, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';
import { allowPersistentKeys, EVERY_LOCK, isComposed, makeLock } from '../../support/kinds';

describe('Inspector.forceUnlock', () => {
  let inspector: Inspector;
  let client: Redisson;
  let name: string;

  beforeEach(() => {
    inspector = Inspector.open(redisUrl());
    trackClient({ stop: () => inspector.close() });
    client = newClient();
    name = uniqueName();
  });

  function newClient(): Redisson {
    return trackClient(Redisson.create(redisUrl()));
  }

  async function ownersOf(of: string): Promise<string[]> {
    return (await inspector.inspect(of)).holders.map(({ owner }) => owner);
  }

  for (const kind of EVERY_LOCK.filter((one) => !isComposed(one))) {
    it(`D3: ${kind.noun}: from the holders that were seen, and from nobody else; who waits gets it`, async () => {
      allowPersistentKeys(kind, name);
      const hold = await makeLock(kind, client, name).acquire();
      const other = newClient();
      const waiting = makeLock(kind, other, name).acquire();
      const isShared = kind.name === 'read';
      const isPolled = kind.channelOf === undefined || kind.name === 'spin';
      if (!isShared && !isPolled) await sleepUntil(async () => (await inspector.inspect(name)).waiters > 0);
      if (isShared) await waiting;
      const holders = await ownersOf(name);
      expect(holders[0]).to.contain(client.getId().slice(0, isShared ? 0 : undefined));

      for (const wrong of [[], [`${other.getId()}:1`], holders.map((owner) => `${owner}1`)]) {
        expect(await inspector.forceUnlock(name, { holders: wrong })).to.equal(false);
        const { released, takenFrom, others } = await inspector.releaseFrom(name, wrong);
        expect({ released, takenFrom, others: [...others].sort() }).to.deep.equal({
          ...{ released: false, takenFrom: [] },
          others: [...holders].sort(),
        });
        expect(await ownersOf(name)).to.have.members(holders);
      }

      const { takenFrom } = await inspector.releaseFrom(name, [...holders, 'somebody:1']);
      expect([...takenFrom].sort()).to.deep.equal([...holders].sort());
      if (isShared) expect(await ownersOf(name)).to.deep.equal([]);
      const next = await waiting;
      if (!isShared) expect((await ownersOf(name))[0]).to.contain(other.getId());
      await hold.unlock().catch(() => undefined);
      await next.unlock().catch(() => undefined);
    });
  }

  it('without holders: whoever has it; false where nobody has', async () => {
    expect(await inspector.forceUnlock(name)).to.equal(false);
    const hold = await client.getLock(name).acquire();
    // A misspelt option would take it from whoever has it.
    for (const options of [{ holder: ['a:1'] }, ['a:1'], 'a:1', null]) {
      expect(await rejection(inspector.forceUnlock(name, options as never))).to.be.instanceOf(ConfigError);
    }
    // So would holders that the caller meant to have.
    expect(await rejection(inspector.forceUnlock(name, { holders: undefined } as never))).to.be.instanceOf(TypeError);
    expect(hold.isHeld && (await ownersOf(name)).length).to.equal(1);
    expect(await inspector.forceUnlock(name)).to.equal(true);
    expect(await inspector.forceUnlock(name, { holders: ['a:1'] })).to.equal(false);
    await hold.unlock().catch(() => undefined);
  });

  it('D3: a holder that changes all the time is never robbed by who has seen another', async function () {
    // 600 round trips in turns with two workers: 0.7 s, and 15 s beside eight processes that compute.
    this.timeout(60_000);
    const redis = trackClient(new Redis(redisUrl()));
    const clients = [newClient(), newClient()];
    let stop = false;
    trackClient({ stop: () => (stop = true) });
    let robbed = 0;
    const forced = new Set<string>();
    // Whoever is inside has it until it ends, unless it was taken from it.
    const workers = clients.map(async (one) => {
      while (!stop) {
        const hold = await one.getLock(name).acquire();
        const owner = `${one.getId()}:${hold.threadId}`;
        await new Promise((resolve) => setTimeout(resolve, 2));
        const isThere = (await redis.hexists(name, owner)) === 1;
        if (!isThere && !forced.has(owner)) robbed++;
        await hold.unlock().catch(() => undefined);
      }
    });
    let released = 0;
    for (let i = 0; i < 300; i++) {
      const holders = await ownersOf(name);
      holders.forEach((owner) => forced.add(owner));
      if (await inspector.forceUnlock(name, { holders })) released++;
      // A page is looked at for longer than a lock is held.
      else holders.forEach((owner) => forced.delete(owner));
    }
    stop = true;
    await Promise.all(workers);
    expect(robbed).to.equal(0);
    expect(released).to.be.lessThan(300);
  });

  it('what has no owner is refused, and stays as it is', async () => {
    const redis = trackClient(new Redis(redisUrl()));
    for (const write of [() => redis.set(name, '3'), () => redis.rpush(name, 'x'), () => redis.hset(name, 'a', 'b')]) {
      await redis.del(name);
      await write();
      const before = await redis.dump(name);
      const error: unknown = await inspector.forceUnlock(name).catch((reason: unknown) => reason);
      expect(error).to.be.an.instanceOf(UnsupportedOperationError);
      expect((error as Error).message).to.contain('no owner to take it from');
      expect(await redis.dump(name)).to.equal(before);
    }
    await redis.del(name);
    for (const holders of ['a:1', [1], null]) {
      const error: unknown = await inspector.forceUnlock(name, { holders } as never).catch((reason: unknown) => reason);
      expect(error).to.be.an.instanceOf(TypeError);
    }
  });
});
