/*
 * The store keeps text as Redis does: bytes. They stand in strings of code units below 256, which Lua's functions can
 * work on.
 */

/** Whether bytes and text are the same. */
const ASCII = /^[\0-\x7f]*$/;

/** An argument of a command, as the store has it. */
export function toBytes(value: string | number | Buffer): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return value.toString('latin1');
  return ASCII.test(value) ? value : Buffer.from(value).toString('latin1');
}

/** Bytes of the store, as text. */
export function fromBytes(bytes: string): string {
  return ASCII.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString();
}
