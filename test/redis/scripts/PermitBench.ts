import { randomBytes } from 'node:crypto';
import { PERMIT } from '../../../lib/kinds/permit';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../../../lib/scripts/Script';
import { prefixName, suffixName } from '../../../lib/util/names';
import type { ScriptBench } from './ScriptBench';

const PUBLISH = { publish: PUBLISH_COMMAND } as const;

/** So many new ids. */
export function ids(count: number): Buffer[] {
  return Array.from({ length: count }, () => randomBytes(16));
}

/** Two new ids. */
export function twoIds(): [Buffer, Buffer] {
  return [randomBytes(16), randomBytes(16)];
}

/** The scripts of the permit-expirable semaphore by short names, with a clock that stands still unless it is moved. */
export class PermitBench {
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

  get permits(): string {
    return suffixName(this.#bench.name, 'timeout');
  }

  set(permits: number) {
    return this.#bench.run(PERMIT.trySetPermits, this.keys(), { permits, ttl: 0, publish: PUBLISH_COMMAND });
  }

  /** A lease of -1 is none. */
  acquire(wanted: readonly Buffer[], lease = 30_000, old: readonly Buffer[] = []) {
    const args = { lease, ...PUBLISH, old: old.length };
    return this.#bench.run(PERMIT.acquire, this.keys(), args, { moreArgs: [...wanted, ...old] });
  }

  release(id: Buffer, resent = false) {
    const args = { id, ...PUBLISH, repeated: RESEND_FLAG } as const;
    return this.#bench.run(PERMIT.release, this.keys(), args, { resent });
  }

  releaseMany(moreArgs: readonly Buffer[], resent = false) {
    const args = { ...PUBLISH, repeated: RESEND_FLAG } as const;
    return this.#bench.run(PERMIT.releaseMany, this.keys(), args, { moreArgs, resent });
  }

  available(): Promise<number> {
    return this.#bench.run(PERMIT.available, this.keys(), PUBLISH);
  }

  total(): Promise<number> {
    return this.#bench.run(PERMIT.total, this.keys(), PUBLISH);
  }

  taken(): Promise<number> {
    return this.#bench.run(PERMIT.acquired, this.keys(), PUBLISH);
  }

  lease(id: Buffer): Promise<number | null> {
    return this.#bench.run(PERMIT.getLease, this.keys(), { id, ...PUBLISH });
  }

  async updateLease(id: Buffer, lease: number): Promise<boolean> {
    return (await this.#leases(0, [id], lease))[0]!;
  }

  /** A renewal by the watchdog. A lease of 0 only looks. */
  renew(ids: readonly Buffer[], lease: number): Promise<boolean[]> {
    return this.#leases(1, ids, lease);
  }

  #leases(renewal: 0 | 1, ids: readonly Buffer[], lease: number): Promise<boolean[]> {
    const { name, permits, channel } = this.keys();
    const more = { moreKeys: [name, permits], moreArgs: [channel, ids.length, ...ids] };
    return this.#bench.run(PERMIT.updateLeases, {}, { lease, renewal, ...PUBLISH }, more);
  }

  setTotal(total: number): Promise<boolean> {
    return this.#bench.run(PERMIT.setPermits, this.keys(), { total, publish: PUBLISH_COMMAND });
  }

  add(added: number): Promise<number> {
    return this.#bench.run(PERMIT.addPermits, this.keys(), { added, publish: PUBLISH_COMMAND });
  }

  remove(): Promise<boolean> {
    return this.#bench.run(PERMIT.delete, this.keys(), {});
  }

  /** What was told since the last call. */
  async messages(): Promise<string[]> {
    return (await this.#bench.messages()).map((line) => line.replace('redisson_sc:{x} ', ''));
  }

  keys() {
    const { name } = this.#bench;
    return { name, permits: this.permits, channel: prefixName('redisson_sc', name) };
  }
}
