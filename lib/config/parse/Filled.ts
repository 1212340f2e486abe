import { describe } from '../../util/describe';

/** A value of a document that comes from the environment, completely or partly. */
export class Filled {
  readonly value: unknown;
  /** Its source, as a text for errors. */
  readonly from: string;

  /** @param from - the text that errors show instead of the value */
  constructor(value: unknown, from: string) {
    this.value = value;
    this.from = from;
  }
}

/**
 * Returns the text that an error shows instead of a value, or `undefined` if it may show the value. Values from the
 * environment are never shown: one may be a password in the wrong place.
 */
export type Hidden = (value: unknown) => string | undefined;

/** A value as an error shows it. */
export function say(value: unknown, hidden: Hidden | undefined): string {
  return hidden?.(value) ?? describe(value);
}

/**
 * Replaces each {@link Filled} in a part of a document by its value.
 *
 * @param content - plain objects, lists and values, some of them {@link Filled}
 * @param found - receives the filled-in values, and the text to show instead of each
 * @returns the same part with plain values
 */
export function reveal(content: unknown, found: Map<unknown, string>): unknown {
  if (content instanceof Filled) {
    hide(content.value, content.from, found);
    return content.value;
  }
  if (Array.isArray(content)) return content.map((one) => reveal(one, found));
  if (typeof content !== 'object' || content === null) return content;
  return Object.fromEntries(Object.entries(content).map(([key, value]) => [key, reveal(value, found)]));
}

/** Hides a value; a list from a variable is hidden together with its elements. */
function hide(value: unknown, from: string, found: Map<unknown, string>): void {
  found.set(value, from);
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) hide(one, from, found);
}
