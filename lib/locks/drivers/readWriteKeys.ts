import { prefixName, suffixName } from '../../util/names';

/** The channel of both halves: `redisson_rwlock:{name}`. */
export function readWriteChannel(rawName: string): string {
  return prefixName('redisson_rwlock', rawName);
}

/** What the keys of an owner's read holds begin with: `{name}:<owner>:rwlock_timeout`. */
export function timeoutPrefix(rawName: string, owner: string): string {
  return `${suffixName(rawName, owner)}:rwlock_timeout`;
}

/** What the keys of everybody's read holds begin with: `{name}`, or the name if it has a brace of its own. */
export function readKeyPrefix(rawName: string): string {
  return rawName.includes('{') ? rawName : `{${rawName}}`;
}

/** Every key and channel of a read/write lock, with one owner for all. */
export function readWriteKeys(rawName: string): string[] {
  return [rawName, readWriteChannel(rawName), timeoutPrefix(rawName, 'owner'), readKeyPrefix(rawName)];
}
