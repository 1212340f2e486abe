import { Refusal } from './requests';

/** What a page asks for. */
export interface UnlockRequest {
  readonly name: string;
  /** The holders that the person who asks has seen; `null`: those at the time of the request. */
  readonly holders: readonly string[] | null;
}

/** Reads what a page asks for. @throws Refusal unless the name was typed, and it says from whom */
export function readUnlock({ name, confirm, holders }: Readonly<Record<string, unknown>>): UnlockRequest {
  if (typeof name !== 'string' || name === '') throw new Refusal(400, 'Send the name of the lock as name.');
  if (confirm !== name) throw new Refusal(400, 'Type the name of the lock: confirm must be equal to name.');
  const isList = Array.isArray(holders) && holders.every((one) => typeof one === 'string');
  // JSON leaves `undefined` out: a client that has lost its list must not release the lock of others.
  if (holders !== null && !isList)
    throw new Refusal(400, 'Send the owners that you have seen as holders; null: whoever has it now.');
  return { name, holders };
}
