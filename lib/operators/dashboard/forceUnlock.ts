import { Refusal } from './requests';

/** What a page asks for. */
export interface UnlockRequest {
  readonly name: string;
  /** The holders that the person who asks has seen; `undefined`: those of a look at the time of the request. */
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
