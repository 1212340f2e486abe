import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must not reach a log: printed, inspected or turned into JSON it reads `[redacted]`, also inside other
 * objects and copies of them. Only {@link reveal} returns it.
 */
export class Secret<T = string> {
  readonly #value: T;

  /** @param value - what to hide */
  constructor(value: T) {
    this.#value = value;
    Object.freeze(this);
  }

  /** @returns the value itself; only for the code that opens connections */
  reveal(): T {
    return this.#value;
  }

  /** @returns `[redacted]` */
  toString(): string {
    return REDACTED;
  }

  /** @returns `[redacted]` */
  toJSON(): string {
    return REDACTED;
  }

  /** @returns `[redacted]` */
  [inspect.custom](): string {
    return REDACTED;
  }
}
