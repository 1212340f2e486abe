import type { DetachOptions } from '../../api';
import { checkOptionNames, LEASE_OPTIONS } from '../../config/optionNames';
import { newSendRecord } from '../../connection/pending/CommandExecutor';
import { ConfigError, IllegalMonitorStateError, LockLostError, UnsupportedOperationError } from '../../errors';
import { serverIdentity } from '../../config/serverIdentity';
import type { Settings } from '../../config/Settings';
import { NOTICE_MS } from '../../scripts/shortenLease';
import { describe } from '../../util/describe';
import { holdLease, NO_LEASE } from '../../util/duration';
import { newSecret, shortHash, type Ticket, ticketOwnerId, ticketText } from '../../util/ticket';
import { endsUndo, mayHaveRun } from '../../acquire/Rollback';
import { type Hold, Ownership, ownershipKey } from '../../watchdog/Ownership';
import type { LockEngine } from './LockEngine';
import { undo } from './undo';

/** Where a ticket is valid. */
export function placeOf(settings: Settings): Pick<Ticket, 'database' | 'servers'> {
  const identity = serverIdentity(settings);
  return { database: identity.slice(identity.lastIndexOf('/') + 1), servers: shortHash(identity) };
}

/**
 * Changes the owner of a hold to one that no client has, and makes the ticket for it. The hold ends here, but the lock
 * stays held. If the outcome is unknown, both owners are undone: nobody has the hold any more.
 * @param setLease - sets another lease for the hold, and notifies waiters of a shorter one
 * @throws as `LockHold.detach`
 */
export async function detach(
  lock: LockEngine,
  threadId: number,
  hold: Hold,
  leaseMs: number,
  setLease: () => Promise<unknown>,
): Promise<string> {
  const { kind, name, rawName, context } = lock;
  const { ownerships } = context;
  if (kind.move === undefined) {
    throw new UnsupportedOperationError(`${kind.name} lock`, 'detach', 'only a hold of one owner in one lock can move');
  }
  let ownership = await detachable(lock, threadId, hold);
  if (ownership.remainingMs(performance.now()) - leaseMs > NOTICE_MS) {
    await setLease();
    ownership = await detachable(lock, threadId, hold);
  }
  const ticket: Ticket = { kind: kind.name, name, leaseMs, ...placeOf(context.settings), secret: newSecret() };
  const heir = kind.ownerOf(0, ticketOwnerId(ticket, rawName));
  const { deadline, owner, renewal } = ownership;
  const sendRecord = newSendRecord();
  // As in a release: from now on it is neither renewed nor lost.
  ownership.beginRelease();
  ownerships.release(ownership, hold);
  hold.released = true;
  try {
    const moving = kind.move({ name, rawName, owner, sendRecord }, heir, leaseMs);
    ownerships.update(ownership);
    if ((await moving).kind === 'handed') {
      hold.trace?.released();
      return ticketText(ticket);
    }
  } catch (error) {
    if (!mayHaveRun(error)) {
      hold.released = false;
      ownerships.add(ownership, hold, deadline);
      throw error;
    }
    hold.trace?.released(error);
    if (!endsUndo(error)) {
      const key = ownershipKey(rawName, heir);
      const moved = new Ownership({
        key,
        kind: kind.name,
        name,
        rawName,
        threadId,
        owner: heir,
        values: undefined,
        renewal,
      });
      for (const one of [ownership, moved])
        undo({ ownership: one, kind, sent: sendRecord, leaseMs }, 'doubtful', context);
    }
    throw error;
  } finally {
    ownership.endRelease();
    ownerships.tidy(ownership);
  }
  ownerships.lose([{ ownership, holds: [hold], why: 'detach() found it gone (expired or deleted)', how: 'released' }]);
  throw hold.lost as unknown as Error;
}

/**
 * Reads the options of `detach`: the lease in ms.
 * @throws ConfigError, RangeError, TypeError for wrong options
 */
export function readDetachLease(options: DetachOptions | undefined, { lockWatchdogTimeout }: Settings): number {
  const leaseMs = readHoldLease(options);
  return leaseMs === NO_LEASE ? lockWatchdogTimeout : leaseMs;
}

/** The lease of options that have nothing else. @returns ms, or {@link NO_LEASE} */
export function readHoldLease(options: DetachOptions | undefined): number {
  if (options !== undefined && (typeof options !== 'object' || options === null)) {
    throw new ConfigError(`options must be an object, got ${describe(options)}`);
  }
  if (options !== undefined) checkOptionNames(options, LEASE_OPTIONS);
  return options?.leaseTime === undefined ? NO_LEASE : holdLease(options.leaseTime, options.unit);
}

/** @throws LockLostError if it is gone; IllegalMonitorStateError if it is not the one hold of its thread */
async function detachable(lock: LockEngine, threadId: number, hold: Hold): Promise<Ownership> {
  let ownership = lock.ownershipOf(threadId);
  while (ownership?.releasing === true) {
    await ownership.whenReleased();
    ownership = lock.ownershipOf(threadId);
  }
  lock.context.watchdog.catchUp();
  if (hold.lost !== undefined) throw hold.lost;
  if (ownership?.holds.includes(hold) !== true || hold.expires === true) throw notHeld(lock.name, threadId);
  const others = lock.otherHalfOf(threadId);
  if (ownership.holds.length > 1 || ownership.unsettled || (others !== undefined && !others.unused)) {
    throw new IllegalMonitorStateError(
      `Lock '${lock.name}': thread ${threadId} has other holds of it, or is acquiring one, and detach() would leave them ` +
        'without the lock. Release them first.',
      lock.name,
    );
  }
  return ownership;
}

/** The error of an operation on a hold that its owner has released. */
export function notHeld(name: string, threadId: number): LockLostError {
  return new LockLostError(name, threadId, 'this hold of it was released before');
}
