import type { RedissonClient, RLock } from '../api';
import type { ObjectReport } from '../inspection';
import { lockToRelease } from '../inspection/lockToRelease';
import { Refusal } from './requests';

/** What a page asks for. */
export interface UnlockRequest {
  readonly name: string;
  /** The holders that the person who asks has seen; `undefined`: whoever it is. */
  readonly holders: readonly string[] | undefined;
}

/** Reads what a page asks for. @throws Refusal unless the name was typed */
export function readUnlock({ name, confirm, holders }: Readonly<Record<string, unknown>>): UnlockRequest {
  if (typeof name !== 'string' || name === '') throw new Refusal(400, 'Send the name of the lock as name.');
  if (confirm !== name) throw new Refusal(400, 'Type the name of the lock: confirm must be equal to name.');
  const isList = Array.isArray(holders) && holders.every((one) => typeof one === 'string');
  if (holders !== undefined && !isList)
    throw new Refusal(400, 'Send the owners that you have seen as holders, or nothing.');
  return { name, holders: holders };
}

/** As of the inspector. @throws Refusal where it is no lock */
export function lockOf(redisson: RedissonClient, report: ObjectReport): RLock {
  const lock = lockToRelease(redisson, report);
  if (lock !== undefined) return lock;
  const why = report.kind === 'other' ? 'its key holds data of another type' : 'there is no owner to take it from';
  throw new Refusal(409, `This is no lock: ${why}.`);
}

/** @throws Refusal when somebody else has it by now than the person who asks has seen */
export function checkHolders({ holders }: ObjectReport, seen: readonly string[] | undefined): void {
  if (seen === undefined) return;
  const now = holders.map(({ owner }) => owner).filter((owner) => !seen.includes(owner));
  if (now.length === 0) return;
  throw new Refusal(409, 'Somebody else holds this lock by now. Nothing was changed. Look again.');
}
