import type { LockSource } from '../../../lib/operators/dashboard/Feed';
import type { ForcedUnlock, ObjectReport, WatchEvent, WatchListener } from '../../../lib/operators/inspection';

/** A report of a lock that somebody holds, or of a free one. */
export function report(name: string, more: Partial<ObjectReport> = {}): ObjectReport {
  const clientId = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
  return {
    name,
    key: name,
    kind: 'lock',
    ttlMs: 30_000,
    verdict: { kind: 'held', sentence: 'Held.' },
    heldSince: 1_000,
    holders: [
      {
        owner: `${clientId}:7`,
        clientId,
        threadId: '7',
        client: 'node',
        holdCount: 1,
        process: { connected: true, java: false, host: 'web-1', pid: 4711, address: '10.0.0.7:51234' },
      },
    ],
    waiters: 0,
    channels: [],
    ...more,
  };
}

/** An Inspector whose looks the test makes up. */
export class FakeSource implements LockSource {
  readonly reports = new Map<string, ObjectReport>();
  /** What a look at one object brings, where that is more: its holders are asked. */
  readonly asked = new Map<string, ObjectReport>();
  watches = 0;
  watching = 0;
  inspections = 0;
  closed = false;
  failure: Error | undefined;
  readonly #listeners = new Set<WatchListener>();

  constructor(...reports: readonly ObjectReport[]) {
    for (const one of reports) this.reports.set(one.key, one);
  }

  watch(listener: WatchListener): () => void {
    this.watches++;
    this.watching++;
    this.#listeners.add(listener);
    setImmediate(() => {
      if (this.#listeners.has(listener)) listener(this.#changes([...this.reports.values()]));
    });
    return () => {
      this.watching--;
      this.#listeners.delete(listener);
    };
  }

  async inspect(name: string): Promise<ObjectReport> {
    this.inspections++;
    if (this.failure !== undefined) throw this.failure;
    const nothing = { kind: 'none', ttlMs: -2, holders: [], verdict: { kind: 'free', sentence: 'Free.' } } as const;
    return this.asked.get(name) ?? this.reports.get(name) ?? report(name, nothing);
  }

  async releaseFrom(name: string, holders: readonly string[]): Promise<ForcedUnlock> {
    const { kind, holders: held } = await this.inspect(name);
    const released = held.length > 0;
    if (released) this.remove(name);
    return { kind, released, takenFrom: released ? holders : [], others: [] };
  }

  async close(): Promise<void> {
    this.closed = true;
    this.#listeners.clear();
  }

  /** Has the watch see something new. */
  see(...reports: readonly ObjectReport[]): void {
    for (const one of reports) this.reports.set(one.key, one);
    this.tell(this.#changes([], reports));
  }

  remove(key: string): void {
    this.reports.delete(key);
    this.tell({ ...this.#changes([]), removed: [{ name: key, key }] });
  }

  tell(event: WatchEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #changes(added: readonly ObjectReport[], changed: readonly ObjectReport[] = []): WatchEvent & { kind: 'changes' } {
    return { kind: 'changes', at: Date.now(), added, changed, removed: [], complete: true, truncated: false };
  }
}
