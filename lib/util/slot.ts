/** How many hash slots a Redis Cluster has. */
export const SLOT_COUNT = 16384;

/** CRC-16/XMODEM (polynomial 0x1021), a byte at a time. */
const CRC16_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

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
  let crc = 0;
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) & 0xffff) ^ (CRC16_TABLE[(crc >> 8) ^ byte] ?? 0);
  return crc % SLOT_COUNT;
}

/**
 * @param keys - keys of one command or script
 * @returns whether a cluster would take them together (true for none or one)
 */
export function sameSlot(...keys: readonly string[]): boolean {
  return new Set(keys.map(slotOf)).size <= 1;
}
