import { expect } from 'chai';
import {
  abandonFairLock,
  acquireFairLock,
  checkFairTurn,
  forceReleaseFairLock,
  releaseFairLock,
  tryAcquireFairLock,
} from '../../../lib/kinds/fair';
import type { AcquireReply } from '../../../lib/scripts/replies';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { prefixName } from '../../../lib/util/names';
import { ownerOf, type ScriptBench, shortened } from './ScriptBench';

/** The fair lock's scripts by short names, with a clock that stands still unless it is moved. */
export class FairBench {
  wait = 5_000;
  lease = 30_000;
  /** What a waiter says it slept for. */
  slept = 0;
  readonly #bench: ScriptBench;

  constructor(bench: ScriptBench) {
    this.#bench = bench;
    bench.now = Date.now();
  }

  /** Epoch ms, by the server's clock. */
  get now(): number {
    return this.#bench.now!;
  }

  set now(now: number) {
    this.#bench.now = now;
  }

  get queue(): string {
    return prefixName('redisson_lock_queue', this.#bench.name);
  }

  get timeouts(): string {
    return prefixName('redisson_lock_timeout', this.#bench.name);
  }

  get claims(): string {
    return prefixName('redisson_lock_claim', this.#bench.name);
  }

  get channelBase(): string {
    return prefixName('redisson_lock__channel', this.#bench.name);
  }

  acquire(owner: string, count = 1): Promise<AcquireReply> {
    return this.#bench.run(acquireFairLock, this.keys(), this.args(owner, count));
  }

  /** Sends the attempts of all of them at once: no time passes for Redis between two of them. */
  async acquireAll(...owners: string[]): Promise<void> {
    await Promise.all(owners.map((owner) => this.acquire(owner)));
  }

  /** An attempt while the lock has so many ms left, which lives on afterwards: no pause of the machine ends it. */
  async acquireWhile(left: number, owner: string): Promise<AcquireReply> {
    const { redis, name } = this.#bench;
    const sent = [redis.pexpire(name, left), this.acquire(owner), redis.pexpire(name, 30_000)] as const;
    return (await Promise.all(sent))[1];
  }

  tryAcquire(owner: string, count = 1): Promise<AcquireReply> {
    return this.#bench.run(tryAcquireFairLock, this.keys(), this.args(owner, count));
  }

  release(owner: string, left = 0, remaining = 0) {
    const args = { message: '0', owner: ownerOf(owner), left, remaining, publish: PUBLISH_COMMAND } as const;
    return this.#bench.run(releaseFairLock, this.keys(), args);
  }

  abandon(owner: string, wait = this.wait) {
    return this.#bench.run(abandonFairLock, this.keys(), {
      message: '0',
      owner: ownerOf(owner),
      wait,
      publish: PUBLISH_COMMAND,
    });
  }

  force() {
    return this.#bench.run(forceReleaseFairLock, this.keys(), { message: '0', publish: PUBLISH_COMMAND });
  }

  /** @param told - ms since the head was told */
  check(told: number): Promise<number> {
    return this.#bench
      .run(checkFairTurn, this.keys(), { message: '0', told, client: '', publish: PUBLISH_COMMAND })
      .then(([againMs]) => againMs);
  }

  args(owner: string, count = 1) {
    const { lease, wait, slept } = this;
    return { lease, owner: ownerOf(owner), wait, count, slept, message: '0', publish: PUBLISH_COMMAND } as const;
  }

  keys() {
    const { queue, timeouts, claims, channelBase } = this;
    return { name: this.#bench.name, queue, timeouts, claims, channelBase };
  }

  /** The lock is acquired, or the answer says so many ms. */
  async expectAcquired(reply: Promise<AcquireReply>): Promise<void> {
    expect(await reply).to.deep.equal({ acquired: true });
  }

  async expectTtl(reply: Promise<AcquireReply>, ttl: number): Promise<void> {
    const answer = await reply;
    expect(answer).to.include({ acquired: false });
    expect(answer)
      .to.have.property('ttl')
      .within(...this.#bench.left(ttl));
  }

  /** It is queued, and attempts again when the lock expires, but at half of its own wait at the latest. */
  expectQueued(reply: Promise<AcquireReply>, ttl: number): Promise<void> {
    return this.expectTtl(reply, Math.min(ttl, Math.max(this.wait / 2, 1_000)));
  }

  /** The queue holds these, in order, with scores so many ms after the clock's time. */
  async expectQueue(expected: Readonly<Record<string, number>>): Promise<void> {
    const { redis } = this.#bench;
    expect(await this.order()).to.deep.equal(Object.keys(expected));
    expect(await redis.zcard(this.timeouts)).to.equal(Object.keys(expected).length);
    for (const [owner, ahead] of Object.entries(expected)) {
      const score = await this.scoreOf(owner);
      expect(score - this.now, `score of ${owner}`).to.be.within(...this.#bench.left(ahead));
    }
  }

  /** Those who wait, in their order. */
  async order(): Promise<string[]> {
    return shortened(await this.#bench.redis.lrange(this.queue, 0, -1));
  }

  /** Epoch ms. */
  async scoreOf(owner: string): Promise<number> {
    return Number(await this.#bench.redis.zscore(this.timeouts, ownerOf(owner)));
  }

  /** Who holds the lock, and how often. */
  async holders(): Promise<Record<string, string>> {
    return shortened(await this.#bench.redis.hgetall(this.#bench.name));
  }

  /** Those who were told since the last call, in this order. */
  async told(): Promise<string[]> {
    const messages = await this.#bench.messages();
    return messages.map((message) => message.replace('redisson_lock__channel:{x}:', '').replace(/ 0$/, ''));
  }

  /** The claims that count: owner -> ms until its end, and whether it was probed (2: and has had its turn). */
  async expectClaims(expected: Readonly<Record<string, readonly [ms: number, probed: number]>>): Promise<void> {
    const claims = await this.#bench.redis.hgetall(this.claims);
    const found: Record<string, readonly [number, number]> = {};
    for (const [owner, claim] of Object.entries(claims)) {
      const [score, end, probed] = claim.split(':');
      if (score !== ((await this.#bench.redis.zscore(this.timeouts, owner)) ?? '')) continue;
      found[shortened(owner)] = [Number(end) - this.now, Number(probed)];
    }
    expect(found).to.deep.equal(expected);
  }
}
