import { outcomeOf } from '../outcome';
import type { Peer } from '../Peer';
import type { PeerThread } from '../PeerThread';
import type { Probe, Snapshot } from '../Probe';
import { LEASE_STEP_MS, type Operation, type PermitReference } from './operations';

/** What one operation did: its result, what it published, and every key afterwards; comparable between the sides. */
export interface Step {
  readonly operation: string;
  readonly result: unknown;
  readonly messages: readonly string[];
  readonly keys: Snapshot;
}

/** Errors that mean the same and are named after their language. */
const SAME_ERRORS: Readonly<Record<string, string>> = { IllegalArgument: 'PermitNotFound', Redis: 'PermitNotFound' };

/** Runs the operations, one after the other, on an empty server. */
export async function traceOperations(peer: Peer, probe: Probe, operations: readonly Operation[]): Promise<Step[]> {
  await probe.redis.flushall();
  const threads: Record<string, PeerThread> = {
    t1: peer.thread('t1').withHandles(),
    t2: peer.thread('t2').withHandles(),
  };
  const names: [string, string][] = [];
  for (const [name, thread] of Object.entries(threads)) names.push([await thread.owner(), `<${name}>`]);
  const recording = await probe.record();
  const permits: string[] = [];
  const steps: Step[] = [];
  let published = 0;
  for (const operation of operations) {
    const result = await perform(operation);
    const messages = (await recording.messages()).slice(published);
    published += messages.length;
    steps.push({
      operation: JSON.stringify(operation),
      result,
      messages: messages.map((message) => renamed(message)),
      keys: await probe.snapshot({ names, ttlClassMs: LEASE_STEP_MS }),
    });
  }
  await recording.stop();
  return steps;

  async function perform(operation: Operation): Promise<unknown> {
    if ('expire' in operation) return expire(operation.expire);
    const { thread, object, method, args } = operation;
    const values = args.map((arg) => (Array.isArray(arg) ? [...new Set(arg.map(permitOf))] : permitOf(arg)));
    const result = await outcomeOf(
      threads[thread]?.call(object, method, ...values) ?? Promise.reject(new Error(thread)),
    );
    return comparable(method, result);
  }

  /** As at the end of its time: the key of the object, and those of its read holds, which never outlive it. */
  async function expire(name: string): Promise<number> {
    const keys = await probe.keys();
    const gone = keys.filter((key) => key === name || (key.startsWith(`{${name}}:`) && key.includes('rwlock_timeout')));
    return gone.length === 0 ? 0 : probe.redis.del(...gone);
  }

  function permitOf(arg: unknown): unknown {
    const reference = arg as PermitReference | null;
    if (typeof reference !== 'object' || reference === null || !('permit' in reference)) return arg;
    return permits[reference.permit % Math.max(1, permits.length)] ?? '0'.repeat(32);
  }

  /** Ids are random and times pass; everything else must be the same. */
  function comparable(method: string, result: unknown): unknown {
    if (/^(tryA|a)cquire$/.test(method) && (Array.isArray(result) || typeof result === 'string')) {
      const ids = [result].flat() as string[];
      permits.push(...ids);
      return `${ids.length} ids`;
    }
    if (typeof result === 'string') return SAME_ERRORS[result] ?? result;
    if (/^(remainTimeToLive|getLeaseTime)$/.test(method) && typeof result === 'number' && result > 0) {
      return Math.ceil((result - 50) / LEASE_STEP_MS) * LEASE_STEP_MS;
    }
    return result;
  }

  function renamed(text: string): string {
    return names.reduce((renaming, [from, to]) => renaming.replaceAll(from, to), text);
  }
}
