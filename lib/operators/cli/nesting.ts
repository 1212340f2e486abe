import { ConnectionError, type LockHold, type ObjectKind } from '../../index';
import type { Inspector, ObjectReport } from '../inspection';
import { ExitCode, Failure } from './exit';

/** The variable that lists the locks that the `run`s around a command hold. */
const HELD = 'IOREDISSON_HELD';

/** A hold of a `run` around us. */
interface OuterHold {
  readonly name: string;
  /** `<clientId>:<threadId>`. */
  readonly owner: string;
}

/** The environment of the command of a `run`: with its lock, and the holds around it, those that we see and ours. */
export function environmentInside(hold: LockHold, clientId: string): NodeJS.ProcessEnv {
  const own: OuterHold = { name: hold.name, owner: `${clientId}:${hold.threadId}` };
  return {
    ...process.env,
    IOREDISSON_LOCK: hold.name,
    // Where it has none, it is not there: a command inside the command must not believe that it has ours.
    IOREDISSON_TOKEN: hold.token?.toString(),
    [HELD]: JSON.stringify([...outerHolds(), own]),
  };
}

/** Whether a `run` around us may hold something: only then a nested one can wait for itself. */
export function isNested(): boolean {
  return outerHolds().length > 0;
}

/**
 * Refuses to wait for a lock that a `run` around us holds: it waits for us. Redis says who holds it, since the variable
 * outlives its `run` in what that left behind, and a name means another lock on another server. Readers may be several.
 *
 * @param name - of the lock
 * @param kind - as what it is to be taken
 * @throws Failure (wrong usage)
 */
export async function refuseNested(inspector: Inspector, name: string, kind: ObjectKind): Promise<void> {
  const outer = outerHolds();
  let held: boolean;
  try {
    held = heldBy(outer, await inspector.inspect(name), kind);
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    // We may not look, or Redis is slow: the names have to do.
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
    // It is not ours.
    return [];
  }
}

function isOuterHold(value: unknown): value is OuterHold {
  const { name, owner } = (value ?? {}) as Partial<OuterHold>;
  return typeof name === 'string' && typeof owner === 'string';
}
