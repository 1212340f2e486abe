import { inspect } from 'node:util';

/**
 * What a value is, for a message, without showing what may hold a password: objects are named, not printed.
 *
 * @param value - anything
 * @returns e.g. `5`, `'on'`, `null`, `a list of 2`, `an instance of Map`
 */
export function describe(value: unknown): string {
  if (typeof value === 'string') return isSuspicious(value) ? 'a text that may hold a secret' : `'${value}'`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' ? describeObject(value) : inspect(value);
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } };
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === 'Object' || name === '' ? 'an object' : `an instance of ${name}`;
}

/** Addresses hold passwords, and what is long or has several lines is no value that was meant to be shown. */
function isSuspicious(text: string): boolean {
  return text.length > 100 || /[@\n]|:\/\//.test(text);
}
