import { describe } from '../../util/describe';

/** A value of a document that comes from the environment, wholly or in part. */
export class Filled {
  readonly value: unknown;
  /** Where it comes from, in words. */
  readonly from: string;

  /** @param from - what to say in errors in place of the value */
  constructor(value: unknown, from: string) {
    this.value = value;
    this.from = from;
  }
}

/**
 * What an error says in place of a value that is not to be shown; `undefined` where it may be shown as usual. Values of
 * the environment never are: one may be a password that stands in the wrong place.
 */
export type Hidden = (value: unknown) => string | undefined;

/** A value in the words of an error. */
export function say(value: unknown, hidden: Hidden | undefined): string {
  return hidden?.(value) ?? describe(value);
}

/**
 * Takes the values out of a part of a document.
 *
 * @param content - plain objects, lists and values, some of them {@link Filled}
 * @param found - gets what was filled in, and what to say in place of it
 * @returns the same with the values
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

/** A list that came out of a variable is hidden together with what is in it. */
function hide(value: unknown, from: string, found: Map<unknown, string>): void {
  found.set(value, from);
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) hide(one, from, found);
}
