/**
 * Names on the wire (`protocol.md` 1.1 and 1.2): what Redisson and this package must build alike, byte for byte.
 * All of them take the *raw* name, i.e. after the name mapper.
 */

/**
 * A key or channel next to an object, on the same cluster slot: `prefix:{name}`, or `prefix:name` when the name has a
 * `{` of its own. Only the presence of that one character counts, as in Redisson.
 *
 * @param prefix - e.g. `redisson_lock__channel`
 * @param name - the raw name of the object
 * Source: `RedissonObject.prefixName`.
 */
export function prefixName(prefix: string, name: string): string {
  return name.includes('{') ? `${prefix}:${name}` : `${prefix}:{${name}}`;
}

/**
 * The same with a suffix: `{name}:suffix`, or `name:suffix`.
 *
 * @param name - the raw name of the object
 * @param suffix - e.g. `timeout`
 * Source: `RedissonObject.suffixName`.
 */
export function suffixName(name: string, suffix: string): string {
  return name.includes('{') ? `${name}:${suffix}` : `{${name}}:${suffix}`;
}

/**
 * The owner of a lock on the wire: `<clientId>:<threadId>`.
 *
 * @param clientId - lower-case UUID of the client
 * @param threadId - the logical thread
 * Source: `RedissonBaseLock.getLockName`.
 */
export function ownerName(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`;
}

/**
 * The owner of a write lock on the wire: `<clientId>:<threadId>:write`.
 *
 * @param clientId - lower-case UUID of the client
 * @param threadId - the logical thread
 * Source: `RedissonWriteLock.getLockName`.
 */
export function writeOwnerName(clientId: string, threadId: number): string {
  return `${ownerName(clientId, threadId)}:write`;
}
