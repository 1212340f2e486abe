import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import type { Redisson } from '../../../lib';
import { sleepUntil, trackClient, turn, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';
import { KINDS } from './kinds';
import { acquireChannel, anySubscriber, holdChannel, Recorder, needTracedCommands } from './Recorder';

const ALL = ['acquire', 'hold'].flatMap((what) =>
  ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((step) => `tracing:ioredisson:${what}:${step}`),
);

describe('subscribers of the diagnostics channels', () => {
  let client: Redisson;
  let redis: Redis;
  let name: string;

  beforeEach(() => {
    redis = bareClient();
    client = newClient();
    name = uniqueName('subscriber');
  });

  /** Subscribes until the test ends. */
  function subscribe(names: readonly string[], listener: (message: object) => void): () => void {
    const subscriber = (message: unknown): void => listener(message as object);
    for (const one of names) channel(one).subscribe(subscriber);
    const stop = (): void => names.forEach((one) => channel(one).unsubscribe(subscriber));
    trackClient({ close: stop });
    return stop;
  }

  describe('with stores', () => {
    it('see every command of an acquisition in their store, and the caller and its hold outside of it', async function () {
      needTracedCommands(this);
      const store = new AsyncLocalStorage<string>();
      const own = new AsyncLocalStorage<string>();
      acquireChannel.start.bindStore(store, (message) => `acquires ${message.name}`);
      trackClient({ close: () => acquireChannel.start.unbindStore(store) });
      const sent: (string | undefined)[] = [];
      subscribe(['tracing:ioredis:command:start'], (message) => {
        const { command } = message as { command: string };
        if (/^(evalsha|eval)$/i.test(command)) sent.push(store.getStore());
      });
      const begun: (string | undefined)[] = [];
      const ended: (string | undefined)[] = [];
      subscribe(['tracing:ioredisson:hold:start'], () => begun.push(`${store.getStore()} ${own.getStore()}`));
      subscribe(['tracing:ioredisson:acquire:asyncEnd'], () => ended.push(store.getStore()));
      await own.run('caller', async () => {
        const first = await client.getLock(name).acquire();
        expect(store.getStore()).to.equal(undefined);
        expect(own.getStore()).to.equal('caller');
        // The attempts of a waiter too, whoever wakes it.
        const waiting = client.getLock(name).tryLock(60);
        await waiting;
        const acquiring = sent.length;
        await first.unlock();
        expect(acquiring).to.be.at.least(2);
        expect(sent.slice(0, acquiring)).to.deep.equal(Array(acquiring).fill(`acquires ${name}`));
        expect(sent.slice(acquiring)).to.deep.equal([undefined]);
      });
      expect(begun).to.deep.equal(['undefined caller']);
      expect(ended).to.deep.equal([`acquires ${name}`, `acquires ${name}`]);
    });

    it('keep nothing of their store in what outlives the acquisition: renewals, subscriptions, losses', async () => {
      const store = new AsyncLocalStorage<string>();
      acquireChannel.start.bindStore(store, () => 'acquiring');
      trackClient({ close: () => acquireChannel.start.unbindStore(store) });
      client = newClient({ lockWatchdogTimeout: 900 });
      const seen: (string | undefined)[] = [];
      subscribe(['ioredisson:renewal', 'ioredisson:lost'], () => seen.push(store.getStore()));
      await client.getLock(name).lock();
      await sleepUntil(() => seen.length > 0, { timeout: 5_000 });
      await redis.del(name);
      let lost = false;
      client.onLockLost(() => {
        lost = true;
        seen.push(store.getStore());
      });
      await sleepUntil(() => lost, { timeout: 5_000 });
      expect(new Set(seen)).to.deep.equal(new Set([undefined]));
    });
  });

  describe('that misbehave', () => {
    /** What Node reports while `run` runs; mocha would take it for a failure of the test. */
    async function uncaughtIn(run: () => Promise<void>): Promise<Error[]> {
      const errors: Error[] = [];
      const others = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      const listener = (error: Error): void => void errors.push(error);
      process.on('uncaughtException', listener);
      try {
        await run();
        await turn();
      } finally {
        process.off('uncaughtException', listener);
        for (const other of others) process.on('uncaughtException', other);
      }
      return errors;
    }

    for (const { kind, make } of KINDS) {
      it(`cannot fail a lock of kind ${kind}, nor leave it behind, by what they throw`, async () => {
        const stop = subscribe([...ALL, 'ioredisson:lost', 'ioredisson:renewal'], () => {
          throw new Error('subscriber');
        });
        const errors = await uncaughtIn(async () => {
          const lock = make(client, name);
          await lock.lock();
          await lock.unlock();
          const hold = await lock.acquire();
          await hold.unlock();
          expect(await lock.withLock(() => 'done')).to.equal('done');
          await rejection(lock.acquire({ signal: AbortSignal.abort(new Error('reason')) }));
        });
        stop();
        expect(errors.length).to.be.at.least(3 * 8);
        expect(new Set(errors.map(({ message }) => message))).to.deep.equal(new Set(['subscriber']));
        expect((await redis.keys(`*${name}*`)).filter((key) => !key.startsWith('redisson_lock_token'))).to.deep.equal(
          [],
        );
        await redis.del(...(await redis.keys(`*${name}*`)), name);
      });
    }

    it('cannot fail a lock by a store whose function throws', async () => {
      const store = new AsyncLocalStorage<string>();
      for (const { start } of [acquireChannel, holdChannel]) {
        start.bindStore(store, () => {
          throw new Error('store');
        });
        trackClient({ close: () => start.unbindStore(store) });
      }
      const errors = await uncaughtIn(() => client.getLock(name).withLock(() => undefined));
      expect(errors.map(({ message }) => message)).to.deep.equal(['store', 'store']);
      expect(await redis.exists(name)).to.equal(0);
    });

    it('cannot fail a lock by freezing or emptying its messages', async () => {
      subscribe(['tracing:ioredisson:acquire:start', 'tracing:ioredisson:hold:start'], (message) => {
        for (const key of Object.keys(message)) Reflect.deleteProperty(message, key);
        Object.freeze(message);
      });
      const hold = await client.getLock(name).acquire();
      await hold.unlock();
      expect(await redis.exists(name)).to.equal(0);
    });

    it('may use the lock that they are told of', async () => {
      const inner: Promise<boolean>[] = [];
      const stop = subscribe(['tracing:ioredisson:hold:asyncEnd'], () => {
        stop();
        inner.push(client.getLock(name).tryLock(1_000, 1_000, undefined, 7));
      });
      await client.getLock(name).withLock(() => undefined);
      expect(await inner[0]).to.equal(true);
      await client.getLock(name).unlock(7);
    });
  });

  describe('that come and go', () => {
    it('in the middle of an acquisition or a hold are told of neither, nor of an end without a begin', async () => {
      const other = newClient();
      const held = await client.getLock(`${name}:held`).acquire();
      const blocker = await other.getLock(name).acquire();
      const waiting = client.getLock(name).acquire();
      await sleepUntil(async () => ((await redis.pubsub('CHANNELS', `*${name}*`)) as string[]).length > 0);
      const heard = new Recorder();
      await held.unlock();
      await blocker.unlock();
      await (await waiting).unlock();
      expect(heard.log).to.deep.equal([]);
    });

    it('before an end leave nothing behind, and the next ones are told of what begins then', async () => {
      const first = new Recorder();
      const hold = await client.getLock(name).acquire();
      expect(first.log).to.have.lengthOf(3);
      first.stop();
      expect(anySubscriber()).to.equal(false);
      await hold.unlock();
      const second = new Recorder();
      await client.getLock(name).withLock(() => undefined);
      expect(second.log).to.have.lengthOf(4);
      expect(first.log).to.have.lengthOf(3);
    });

    it('to one step only, or to holds only, are told all the same', async () => {
      const seen: string[] = [];
      subscribe(['tracing:ioredisson:hold:asyncEnd'], (message) => {
        seen.push((message as { outcome: string }).outcome);
      });
      await client.getLock(name).withLock(() => undefined);
      expect(seen).to.deep.equal(['released']);
    });
  });

  it('are told of 10 000 holds, each once and to its end', async function () {
    // Work for seconds, and the machine may be busy.
    this.timeout(120_000);
    const heard = new Recorder();
    const COUNT = 10_000;
    const ids = Array.from({ length: 500 }, (_, i) => i);
    await Promise.all(
      ids.map(async (id) => {
        const lock = client.getLock(`${name}:${id % 250}`);
        for (let i = 0; i < COUNT / ids.length; i++) await lock.withLock(() => Promise.resolve());
      }),
    );
    const steps = (all: readonly { steps: string[] }[]): string[] => [...new Set(all.map((one) => one.steps.join()))];
    expect(heard.acquisitions).to.have.lengthOf(COUNT);
    expect(heard.holds).to.have.lengthOf(COUNT);
    expect(steps(heard.acquisitions)).to.deep.equal(['start,end,asyncStart,asyncEnd']);
    expect(steps(heard.holds)).to.deep.equal(['start,end,asyncStart,asyncEnd']);
    expect(new Set(heard.held.map(({ outcome }) => outcome))).to.deep.equal(new Set(['released']));
    heard.stop();
    expect(anySubscriber()).to.equal(false);
  });
});
