/** What Redis answers: text of bytes, an integer, nothing, a list, a status, an error. */
export type Reply = string | number | null | readonly Reply[] | Status | RedisError;

/** A reply like `OK`. */
export class Status {
  constructor(readonly text: string) {}
}

/** An error that Redis answers; its text begins with its code. */
export class RedisError extends Error {}
