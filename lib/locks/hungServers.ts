import { CommandTimeoutError, ConnectionError } from '../errors';
import { runOutside } from '../util/outside';
import { Patience } from '../wait/Patience';
import type { MemberLock } from './MemberLock';

/** A server that did not answer is asked again at most so often, in ms. */
const PAUSE_MS = 500;

/** What is known of servers that hang, by the client that calls them: each has its own connection. */
interface Suspicion {
  /** The one that got no answer: on a cluster another one may be on a node that answers. */
  readonly member: MemberLock;
  /** A read that is under way: whether it was answered. */
  probe: Promise<boolean> | undefined;
  /** Monotonic time of the next one. */
  dueAt: number;
}

const suspicions = new WeakMap<object, Suspicion>();

/** A member's server did not answer. It counts as hung until it answers a read, which is sent at once. */
export function suspect(member: MemberLock): void {
  if (member.client === undefined || suspicions.has(member.client)) return;
  suspicions.set(member.client, { member, probe: undefined, dueAt: 0 });
  isHung(member);
}

/** Whether a member's server hung when it was last heard of. It is asked again from time to time, and nobody waits for it. */
export function isHung(member: MemberLock): boolean {
  const { client } = member;
  const suspicion = client === undefined ? undefined : suspicions.get(client);
  if (suspicion === undefined) return false;
  if (suspicion.probe === undefined && performance.now() >= suspicion.dueAt) {
    // A read, not an acquisition: there is nothing to be undone.
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

/** Whether a member's server that hung is heard of within so many ms. @param signal - ends the wait sooner */
export async function isBack(member: MemberLock, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (!isHung(member)) return true;
  const probe = suspicions.get(member.client!)?.probe;
  if (probe === undefined) return false;
  const patience = new Patience(performance.now() + ms, signal);
  const answered = await patience.orInterrupted(probe);
  patience.end();
  return answered === true;
}
