import { randomBytes } from 'node:crypto';

let counter = 0;

/** A lock name nobody else uses, in this run or in any other on the same server. */
export function uniqueName(prefix = 'lock'): string {
  counter += 1;
  return `${prefix}-${counter}-${randomBytes(4).toString('hex')}`;
}
