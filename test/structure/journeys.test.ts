import { expect } from 'chai';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import * as fs from 'node:fs';
import { Session } from 'node:inspector/promises';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BackOffWaits } from '../../lib/acquire/BackOffWaits';
import { Introspection } from '../../lib/introspection/Introspection';
import { Redis } from 'ioredis';
import { Redisson } from '../../lib';
import { fakeClock, RedisServer, skip, sleepUntil, trackClient, turn, uniqueName } from '../support';
import { CHANNEL, FakeClient, NAME } from '../support/fakeClient';
import { stepsOf } from './architecture';

const root = path.resolve(__dirname, '..', '..');
const lib = path.join(root, 'lib');
const page = fs.readFileSync(path.join(root, 'docs', 'architecture.md'), 'utf8');

/** Not counted on the page. */
const BELOW = /^(connection|errors|config)\//;
/** Settings of introspection. */
const UNASKED = { nameOf: String, callSites: false, place: '' };

function journey(heading: string): string[] {
  return stepsOf(page, heading)
    .map(({ file }) => file)
    .filter((file) => !BELOW.test(file));
}

/** A function of lib/: its file, its name, and where it begins. */
interface Ran {
  readonly file: string;
  readonly name: string;
  readonly at: number;
}

/** Counts the functions of lib/ that run, as V8 does. One for a suite: to begin makes all code of the process slow. */
class Coverage {
  readonly #session = new Session();

  async begin(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  end(): void {
    this.#session.disconnect();
  }

  /** The functions that run during `work`. */
  async of(work: () => Promise<unknown>): Promise<Ran[]> {
    await this.#session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.startsWith('file:'))
      .map(({ url, functions }) => ({ file: path.relative(lib, fileURLToPath(url)), functions }))
      .filter(({ file }) => !file.startsWith('..'))
      .flatMap(({ file, functions }) =>
        functions
          .filter(({ ranges }) => ranges[0]!.count > 0)
          .map(({ functionName, ranges }) => ({
            file: file.split(path.sep).join('/'),
            name: functionName,
            at: ranges[0]!.startOffset,
          })),
      );
  }

  /** The files above connection/ in which a function runs during `work`. */
  async filesOf(work: () => Promise<unknown>): Promise<string[]> {
    const files = new Set((await this.of(work)).map(({ file }) => file));
    return [...files].filter((file) => !BELOW.test(file));
  }
}

/** One that counts from here on, to the end of the suite. */
function useCoverage(): Coverage {
  const coverage = new Coverage();
  before(async function () {
    if (process.env['NODE_V8_COVERAGE'] !== undefined) skip(this, 'c8 reads the same counters');
    await coverage.begin();
  });
  after(() => coverage.end());
  return coverage;
}

// On a fake server, so that nothing runs beside the call.
describe('the journeys of docs/architecture.md name all files that run', () => {
  const acquiring = journey('`tryLock()` of a free lock');
  const waking = journey('A wake-up');
  const coverage = useCoverage();
  let client: FakeClient;

  beforeEach(() => {
    fakeClock();
    client = new FakeClient();
  });

  it('tryLock() of a free lock', async () => {
    // As of a client that can be asked, and not the first call: that one sets a timer for as long as anything is held.
    const introspection = new Introspection({ ...client.context, backOffWaits: new BackOffWaits(), ...UNASKED });
    Object.assign(client.context, { introspection });
    const former = client.lock('another');
    await former.tryLock();
    await former.unlock();
    await turn();
    const lock = client.lock();
    const files = await coverage.filesOf(() => lock.tryLock());
    expect(files).to.have.members(acquiring);
    await client.shutdown();
  });

  it('a wake-up, up to the attempt that follows', async () => {
    client.redis.seize(NAME, 'another');
    const waiting = client.lock().lock();
    await turn();
    client.redis.delete(NAME);
    const files = await coverage.filesOf(() => {
      client.redis.publish(CHANNEL, '0');
      return waiting;
    });
    expect(files).to.include.members(waking);
    // From the attempt on it is the other journey.
    expect([...waking, ...acquiring]).to.include.members(files);
    await client.shutdown();
  });
});

/**
 * The most functions, those of connection/ included, that run on the way of a call: what a reader steps through, and
 * most of what a call costs. Each is what was reached, and one or two more; a change that needs more says why.
 */
const MOST = {
  tryLock: 83,
  unlock: 72,
  'a wake-up in another client, with the unlock': 131,
  'three hand-overs': 188,
  'a fair lock is joined': 148,
  'a fair lock is handed on': 137,
  'a permit': 62,
  'a renewal': 78,
  withLock: 158,
  'a group, taken and given back': 132,
} as const;

/** How often each is measured. Other work of the process may run beside it, so the fewest functions count. */
const ROUNDS = 3;

/** Timers run by the clock, whatever the call does. */
const OF_TIMERS = /^util\/(Alarm|outside)\.ts |clampTimer|judges|#setAlarm/;

describe('the journeys run no more functions than were reached', () => {
  const coverage = useCoverage();
  const fewest = new Map<string, readonly Ran[]>();
  let server: RedisServer;
  let redis: Redis;

  before(async function () {
    this.timeout(60_000);
    server = trackClient(await RedisServer.start());
    redis = trackClient(new Redis(server.url));
    const [first, second] = [0, 1].map(() => trackClient(Redisson.create(server.url)));
    for (let round = 0; round <= ROUNDS; round++) await measure(first!, second!, round);
  });

  async function isSubscribed(name: string): Promise<void> {
    await sleepUntil(async () => ((await redis.pubsub('CHANNELS', `*${name}*`)) as string[]).length > 0);
  }

  /** Resolves when callers of a client wait for the lock: they are subscribed, and have attempted since. */
  async function isAwaited(name: string, by: Redisson): Promise<void> {
    await isSubscribed(name);
    for (let i = 0; i < 2; i++) {
      await by.ping();
      await turn();
    }
  }

  async function ran(what: keyof typeof MOST, round: number, work: () => Promise<unknown>): Promise<void> {
    const functions = (await coverage.of(work)).filter(
      ({ file, name, at }) => name !== '' && at > 0 && !OF_TIMERS.test(`${file} ${name}`),
    );
    // In the first round functions run for the first time that are not run again.
    if (round > 0 && functions.length < (fewest.get(what)?.length ?? Infinity)) fewest.set(what, functions);
  }

  function isRenewed(): Promise<void> {
    return new Promise((resolve) => {
      const renewed = (): void => {
        unsubscribe('ioredisson:renewal', renewed);
        resolve();
      };
      subscribe('ioredisson:renewal', renewed);
    });
  }

  async function measure(first: Redisson, second: Redisson, round: number): Promise<void> {
    const free = first.getLock(uniqueName('free'));
    await free.tryLock();
    await free.unlock();
    await ran('tryLock', round, () => free.tryLock());
    await ran('unlock', round, () => free.unlock());

    const name = uniqueName('awaited');
    const [holder, waiter] = [first.getLock(name), second.getLock(name)];
    await holder.lock();
    const woken = waiter.lock();
    await isAwaited(name, second);
    await ran('a wake-up in another client, with the unlock', round, () => Promise.all([holder.unlock(), woken]));
    await waiter.unlock();

    const handed = first.getLock(uniqueName('handed'));
    await handed.lock();
    const sections = [1, 2, 3].map(() => first.getLock(handed.name).withLock(() => undefined));
    await isAwaited(handed.name, first);
    await ran('three hand-overs', round, () => Promise.all([handed.unlock(), ...sections]));

    const fairName = uniqueName('fair');
    const [head, next] = [first.getFairLock(fairName), second.getFairLock(fairName)];
    await head.lock();
    let joined: Promise<void> | undefined;
    await ran('a fair lock is joined', round, async () => {
      joined = next.lock();
      await isSubscribed(fairName);
      await turn();
    });
    await isAwaited(fairName, second);
    await ran('a fair lock is handed on', round, () => Promise.all([head.unlock(), joined]));
    await next.unlock();

    const permits = first.getPermitExpirableSemaphore(uniqueName('permits'), { permits: 2 });
    await permits.release(await permits.acquire());
    let id: string | null = null;
    await ran('a permit', round, async () => (id = await permits.tryAcquire()));
    await permits.release(id!);
    await permits.delete();

    const section = first.getLock(uniqueName('section'));
    await section.withLock(() => undefined);
    await ran('withLock', round, () => section.withLock(() => undefined));

    const group = first.getMultiLock(uniqueName('group'), ['x', 'y']);
    await group.tryLock();
    await group.unlock();
    await ran('a group, taken and given back', round, async () => {
      await group.tryLock();
      await group.unlock();
    });

    const watched = trackClient(Redisson.create({ url: server.url, lockWatchdogTimeout: 3_000 }));
    const renewed = watched.getLock(uniqueName('renewed'));
    await renewed.lock();
    await ran('a renewal', round, isRenewed);
    await renewed.unlock();
    await watched.shutdown();
  }

  for (const [what, most] of Object.entries(MOST)) {
    it(`${what}: ${most}`, () => {
      const functions = fewest.get(what)!;
      const list = functions.map(({ file, name }) => `${file} ${name}`).sort();
      expect(functions, list.join('\n')).to.have.lengthOf.within(1, most);
    });
  }
});
