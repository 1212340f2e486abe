import { expect } from 'chai';
import { acquireWithin, type Acquirable, type Attempt } from '../../../lib/acquire/acquireWithin';
import { WaitLimit } from '../../../lib/acquire/WaitLimit';
import type { WaitOrder } from '../../../lib/waiters/Waiter';
import { lockWakeRule, semaphoreWakeRule } from '../../../lib/waiters/wakeRules';
import { turn } from '../../support';
import { openFakeSubscriptions, type FakeSubscriptions, waiting } from './fakeSubscriptions';

const [CHANNEL, NAME] = ['channel', 'name'];

/**
 * What may happen: the holder releases, the first or second waiter is aborted, a third joins, or nothing for a moment.
 */
const EVENTS = ['release', 'abort 1', 'abort 2', 'join', 'moment'] as const;
type Event = (typeof EVENTS)[number];

/** One lock, or one permit, that another process has at first, and waiters of one process. */
class Scene {
  readonly #world: FakeSubscriptions;
  readonly #order: WaitOrder;
  readonly #aborts: AbortController[] = [];
  #free = false;
  #mine = false;
  /** How many wait. */
  waiting = 0;

  constructor(world: FakeSubscriptions, order: WaitOrder) {
    this.#world = world;
    this.#order = order;
  }

  /** Whether it is free although somebody waits: a wake-up was lost. */
  get stuck(): boolean {
    return this.#free && this.waiting > 0;
  }

  join(): void {
    const abort = new AbortController();
    this.#aborts.push(abort);
    this.waiting++;
    const limit = new WaitLimit(Infinity, abort.signal);
    void acquireWithin(this.#acquirable(), limit)
      .catch(() => undefined)
      .finally(() => this.waiting--);
  }

  async play(event: Event): Promise<void> {
    if (event === 'release') this.#release();
    else if (event === 'join') this.join();
    else if (event === 'moment') for (let step = 0; step < 2; step++) await Promise.resolve();
    else this.#aborts[event === 'abort 1' ? 0 : 1]!.abort(new Error('aborted'));
  }

  end(): void {
    for (const abort of this.#aborts) abort.abort(new Error('end'));
  }

  #acquirable(): Acquirable<true> {
    const { subscriptions } = this.#world;
    const rule = this.#order === 'fifo' ? lockWakeRule : semaphoreWakeRule;
    return {
      mustQueue: false,
      attempt: () => this.#attempt(),
      join: () => subscriptions.join<true>(waiting(rule, this.#order), CHANNEL, NAME),
      giveUp: (pending) => {
        void pending?.then(({ ok }) => ok && this.#release());
      },
    };
  }

  /** The command reaches the server, and then its reply comes. */
  async #attempt(): Promise<Attempt<true>> {
    await Promise.resolve();
    const ok = this.#free;
    if (ok) [this.#free, this.#mine] = [false, true];
    await Promise.resolve();
    return ok ? { ok, value: true } : { ok, retryInMs: Infinity };
  }

  #release(): void {
    if (this.#free) return;
    const { redis, subscriptions } = this.#world;
    const turns = this.#mine && this.#order === 'fifo' ? subscriptions.turns(CHANNEL, NAME) : undefined;
    turns?.releasing();
    [this.#free, this.#mine] = [true, false];
    const receivers = redis.publish(CHANNEL, this.#order === 'fifo' ? '0' : '1');
    if (turns !== undefined) void Promise.resolve().then(() => turns.released(Number(receivers)));
  }
}

/** All orders of so many events; an abort or a join twice changes nothing. */
function* orders(length: number, begun: readonly Event[] = []): Generator<readonly Event[]> {
  if (begun.length === length) {
    yield begun;
    return;
  }
  for (const event of EVENTS) {
    const repeats = event !== 'release' && event !== 'moment' && begun.includes(event);
    if (!repeats) yield* orders(length, [...begun, event]);
  }
}

describe('every order of what may happen to waiters', function () {
  this.timeout(60_000);

  for (const order of ['fifo', 'shared'] as const) {
    it(`${order}: a message that comes while somebody waits is used, or handed on`, async () => {
      const world = openFakeSubscriptions();
      let played = 0;
      for (const events of orders(6)) {
        const scene = new Scene(world, order);
        scene.join();
        scene.join();
        await turn();
        for (const event of events) await scene.play(event);
        // Everything that is on its way arrives. No time passes.
        await turn();
        expect(scene.stuck, events.join(', ')).to.equal(false);
        scene.end();
        await turn();
        expect([scene.waiting, world.subscriptions.size], events.join(', ')).to.deep.equal([0, 0]);
        played++;
      }
      expect(played).to.equal(3_040);
      expect(world.clock.countTimers()).to.equal(0);
    });
  }
});
