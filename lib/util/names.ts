/**
 * Names on the wire: Redisson and this package must build them alike, byte for byte.
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

/** How many strings {@link remembered} keeps at most. */
const MAX_REMEMBERED = 1_000;

/**
 * The same function, which returns the same string for the same name as long as it remembers it: Node need not build
 * and hash the channel of a busy lock anew for each command.
 *
 * @param make - makes a string from another one, for example a channel from the raw name of a lock
 */
export function remembered(make: (text: string) => string): (text: string) => string {
  const results = new Map<string, string>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    if (results.size >= MAX_REMEMBERED) results.clear();
    const result = make(text);
    results.set(text, result);
    return result;
  };
}

/**
 * {@link prefixName} with a suffix instead: `{name}:suffix`, or `name:suffix`.
 *
 * @param name - the raw name of the object
 * @param suffix - e.g. `timeout`
 * Source: `RedissonObject.suffixName`.
 */
export function suffixName(name: string, suffix: string): string {
  return name.includes('{') ? `${name}:${suffix}` : `{${name}}:${suffix}`;
}

/** A writer's name ends with this. */
export const WRITER = ':write';

/** How many hash slots a Redis Cluster has. */
export const SLOT_COUNT = 16384;

/** CRC-16/XMODEM (polynomial 0x1021), a byte at a time. */
function crc16Table(): Uint16Array {
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    return crc;
  });
}

/** Made at the first use, which only a cluster has. */
let crc16: Uint16Array | undefined;

/**
 * The hash slot of a key, as Redis Cluster computes it.
 *
 * Only the hash tag counts where there is one: what stands between the first `{` and the first `}` after it, unless
 * that is empty. (Redisson's client takes the first `}` of the whole name, which is wrong for `}a{b}`.)
 *
 * @param key - a key or a sharded channel; text counts as UTF-8
 * @returns 0 to 16383
 * Source: the Redis Cluster specification.
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  crc16 ??= crc16Table();
  let crc = 0;
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) & 0xffff) ^ (crc16[(crc >> 8) ^ byte] ?? 0);
  return crc % SLOT_COUNT;
}
