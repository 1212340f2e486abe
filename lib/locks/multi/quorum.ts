import { CommandTimeoutError, ConnectionError, IllegalMonitorStateError, LockLostError } from '../../errors';
import { NO_LEASE } from '../../util/duration';
import { runOutside } from '../../util/outside';
import { within } from '../../acquire/WaitLimit';
import type { MemberLock } from '../core/MemberLock';

/** How many members of a multi-lock are needed to hold it. */
export interface Quorum {
  /** For errors. */
  readonly kind: string;
  /** For subscribers to acquisitions. */
  readonly objectKind: 'multi' | 'red';
  /** @returns how many of the members are needed */
  needed(members: number): number;
}

/** Every member (Redisson: RedissonMultiLock). */
export const ALL: Quorum = { kind: 'MultiLock', objectKind: 'multi', needed: (members) => members };

/** More than half of them (Redisson: RedissonRedLock). */
export const MAJORITY: Quorum = {
  kind: 'RedLock',
  objectKind: 'red',
  needed: (members) => Math.floor(members / 2) + 1,
};

/** How long to wait for the remaining operations once the outcome is certain, in ms. */
const LATECOMER_MS = 1_500;
/** Once enough members have a lease, the others are waited for for at most this part of it. */
const LEASE_PART = 0.1;

/**
 * How long to wait for the remaining members once enough of them have a lease, in ms: no caller may lose it meanwhile.
 */
export function latecomerTime(leaseMs: number): number {
  return leaseMs === NO_LEASE ? LATECOMER_MS : Math.min(LATECOMER_MS, leaseMs * LEASE_PART);
}

/**
 * Waits for several operations. Once `needed` of them have succeeded, it waits for the rest for a limited time only: a
 * server that is down must not delay the others. Its operation goes on in the background.
 * @param isHung - which operations not to wait for once the outcome is certain, because their servers hang
 * @param latecomerMs - how long to wait for the rest once the outcome is certain, in ms
 * @throws when fewer than `needed` succeeded: that the lock is not held, if so many members say so that the others are
 *   too few; else the first other error in the order of the list. A red lock does not have all of its members, so one
 *   that has nothing to release is no reason to say that the lock is not held.
 */
export async function settleQuorum(
  operations: readonly Promise<unknown>[],
  needed: number,
  isHung: (index: number) => boolean = () => false,
  latecomerMs = LATECOMER_MS,
): Promise<void> {
  let succeeded = 0;
  let timer: NodeJS.Timeout | undefined;
  const prompt = Promise.allSettled(operations.filter((_, index) => !isHung(index)));
  const enough = new Promise<void>((resolve) => {
    for (const operation of operations) {
      operation.then(
        () => {
          if (++succeeded !== needed || needed === operations.length) return;
          timer = setTimeout(resolve, latecomerMs);
          void prompt.then(() => resolve());
        },
        () => undefined,
      );
    }
    // Unref'd: it must not keep the process alive, since no caller may be waiting for it.
    if (needed === 0) timer = setTimeout(resolve, LATECOMER_MS).unref();
  });
  const all = Promise.allSettled(operations);
  try {
    const results = await Promise.race([all, enough]);
    if (results === undefined || succeeded >= needed) return;
    const failures = results.filter((result) => result.status === 'rejected');
    const notHeld = failures.filter(saysNotHeld);
    const held = notHeld.length <= operations.length - needed;
    const failed = (held ? failures.find((one) => !saysNotHeld(one)) : notHeld[0]) ?? failures[0];
    if (failed !== undefined) throw failed.reason;
  } finally {
    clearTimeout(timer);
  }
}

function saysNotHeld({ reason }: PromiseRejectedResult): boolean {
  return reason instanceof IllegalMonitorStateError || reason instanceof LockLostError;
}

/**
 * Whether at least `needed` of the promises resolve to `true`.
 * @throws the first error, if the errors leave this open
 */
export function majorityOf(questions: readonly Promise<boolean>[], needed: number): Promise<boolean> {
  let yes = 0;
  let open = questions.length;
  const errors: unknown[] = [];
  return new Promise((resolve, reject) => {
    const answered = (held: boolean): void => {
      open--;
      if (held && ++yes === needed) resolve(true);
      if (yes + open + errors.length < needed) resolve(false);
      else if (open === 0) reject(errors[0]);
    };
    for (const question of questions) {
      question.then(answered, (error: unknown) => {
        errors.push(error);
        answered(false);
      });
    }
  });
}

/** The pause between two probes of a server that did not reply, in ms. */
const PAUSE_MS = 500;

/** The state of a server that hangs. Kept per client, because each client has its own connection. */
interface Suspicion {
  /** The member that got no reply: on a cluster, another member may be on a node that replies. */
  readonly member: MemberLock;
  /** The probe (a read) under way; resolves to whether it got a reply. */
  probe: Promise<boolean> | undefined;
  /** Monotonic time of the next probe. */
  dueAt: number;
}

const suspicions = new WeakMap<object, Suspicion>();

/** Marks a member's server that did not reply as hung, until it replies to a probe. The first probe is sent at once. */
export function suspect(member: MemberLock): void {
  if (member.client === undefined || suspicions.has(member.client)) return;
  suspicions.set(member.client, { member, probe: undefined, dueAt: 0 });
  isHung(member);
}

/**
 * Whether a member's server counts as hung. If it does, this sends the next probe when it is due, in the background.
 */
export function isHung(member: MemberLock): boolean {
  const { client } = member;
  const suspicion = client === undefined ? undefined : suspicions.get(client);
  if (suspicion === undefined) return false;
  if (suspicion.probe === undefined && performance.now() >= suspicion.dueAt) {
    // A read, not an acquisition, so that there is nothing to undo.
    suspicion.probe = runOutside(() => suspicion.member.isLocked()).then(
      () => true,
      (error: unknown) => !(error instanceof ConnectionError || error instanceof CommandTimeoutError),
    );
    void suspicion.probe.then((answered) => {
      suspicion.probe = undefined;
      suspicion.dueAt = performance.now() + PAUSE_MS;
      if (answered) suspicions.delete(client!);
    });
  }
  return true;
}

/** Whether a member's server that hung replies within `ms` milliseconds. @param signal - ends the wait sooner */
export async function isBack(member: MemberLock, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (!isHung(member)) return true;
  const probe = suspicions.get(member.client!)?.probe;
  return probe !== undefined && (await within(ms, probe, signal)) === true;
}
