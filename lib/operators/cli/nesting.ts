import { ConnectionError, type LockHold, type ObjectKind } from '../../index';
import type { Inspector, ObjectReport } from '../inspection';
import { ExitCode, Failure } from './exit';

/** Environment variable with the locks that the enclosing `run`s hold. */
const HELD = 'IOREDISSON_HELD';

/** A hold of an enclosing `run`. */
interface OuterHold {
  readonly name: string;
  /** `<clientId>:<threadId>`. */
  readonly owner: string;
}

/**
 * The environment for the command of a `run`: ours, plus its lock, its token, and the list of enclosing holds with
 * this one.
 */
export function environmentInside(hold: LockHold, clientId: string): NodeJS.ProcessEnv {
  const own: OuterHold = { name: hold.name, owner: `${clientId}:${hold.threadId}` };
  return {
    ...process.env,
    IOREDISSON_LOCK: hold.name,
    // Unset if the lock has no token: a nested command must not take the outer token for its own.
    IOREDISSON_TOKEN: hold.token?.toString(),
    [HELD]: JSON.stringify([...outerHolds(), own]),
  };
}

/** Whether an enclosing `run` may hold a lock: only then can a nested `run` wait for itself. */
export function isNested(): boolean {
  return outerHolds().length > 0;
}

/**
 * Refuses to wait for a lock that an enclosing `run` holds, because that `run` waits for us. Redis decides who holds
 * it: the variable lives on in processes that an ended `run` left behind, and on another server the same name is
 * another lock. Readers may share the lock.
 *
 * @param name - of the lock
 * @param kind - the kind to acquire it as
 * @throws Failure (wrong usage)
 */
export async function refuseNested(inspector: Inspector, name: string, kind: ObjectKind): Promise<void> {
  const outer = outerHolds();
  let held: boolean;
  try {
    held = heldBy(outer, await inspector.inspect(name), kind);
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    // We may not inspect the lock, or Redis is slow: compare the names instead.
    held = kind !== 'read' && outer.some((one) => one.name === name);
  }
  if (held)
    throw new Failure(`'${name}' is held by a run around this one: they would wait for each other`, ExitCode.usage);
}

function heldBy(outer: readonly OuterHold[], { holders }: ObjectReport, kind: ObjectKind): boolean {
  const ours = holders.filter(({ clientId, threadId }) =>
    outer.some(({ owner }) => owner === `${clientId}:${threadId}`),
  );
  return ours.some(({ mode }) => kind !== 'read' || mode !== 'read');
}

function outerHolds(): readonly OuterHold[] {
  try {
    const holds = JSON.parse(process.env[HELD] ?? '[]') as unknown;
    return Array.isArray(holds) ? holds.filter(isOuterHold) : [];
  } catch {
    // Not written by us.
    return [];
  }
}

function isOuterHold(value: unknown): value is OuterHold {
  const { name, owner } = (value ?? {}) as Partial<OuterHold>;
  return typeof name === 'string' && typeof owner === 'string';
}
