/**
 * HighwayHash-128 (Google): how Redisson turns a value of a group lock into a name of a hash field. A value has one
 * field name for all clients, so every bit counts.
 */

/** Redisson's key. Source: `org.redisson.misc.Hash`. */
const KEY = [0x9e3779b97f4a7c15n, 0xf39cc0605cedc834n, 0x1082276bf3a27251n, 0xf86c6a11d0c18e95n];
const INITIAL_0 = [0xdbe6d5d5fe4cce2fn, 0xa4093822299f31d0n, 0x13198a2e03707344n, 0x243f6a8885a308d3n];
const INITIAL_1 = [0x3bd39e10cb0ef593n, 0xc0acf169b5f18a8cn, 0xbe5466cf34e90c6cn, 0x452821e638d01377n];

const LOW = 0xffffffffn;
const LANES = [0, 1, 2, 3] as const;
/** Bytes of a packet. */
const PACKET = 32;
const ROUNDS_128 = 6;

/** Four lanes of 64 bits; what is written to one wraps around. */
type Lanes = BigUint64Array & Record<0 | 1 | 2 | 3, bigint>;

function lanes(values: readonly bigint[]): Lanes {
  return BigUint64Array.from(values) as Lanes;
}

function swapHalves(x: bigint): bigint {
  return (x >> 32n) | ((x & LOW) << 32n);
}

class HighwayState {
  readonly #v0 = lanes(INITIAL_0.map((initial, i) => initial ^ KEY[i]!));
  readonly #v1 = lanes(INITIAL_1.map((initial, i) => initial ^ swapHalves(KEY[i]!)));
  readonly #mul0 = lanes(INITIAL_0);
  readonly #mul1 = lanes(INITIAL_1);

  /** Takes in a packet of 32 bytes. */
  update(packet: Buffer): void {
    this.#mix(lanes(LANES.map((i) => packet.readBigUInt64LE(8 * i))));
  }

  /** Takes in what is left behind the last whole packet: 1 to 31 bytes. */
  updateRest(rest: Buffer): void {
    const size = BigInt(rest.length);
    for (const i of LANES) {
      this.#v0[i] += (size << 32n) + size;
      const [low, high] = [rotate32(this.#v1[i] & LOW, size), rotate32(this.#v1[i] >> 32n, size)];
      this.#v1[i] = (high << 32n) | low;
    }
    const packet = Buffer.alloc(PACKET);
    const whole = rest.length & ~3;
    const odd = rest.length & 3;
    rest.copy(packet, 0, 0, whole);
    if ((rest.length & 16) !== 0) rest.copy(packet, PACKET - 4, rest.length - 4);
    else if (odd > 0) {
      packet[16] = rest[whole]!;
      packet[17] = rest[whole + (odd >> 1)]!;
      packet[18] = rest[whole + odd - 1]!;
    }
    this.update(packet);
  }

  /** @returns 16 bytes */
  digest(): Buffer {
    const [v0, v1, mul0, mul1] = [this.#v0, this.#v1, this.#mul0, this.#mul1];
    for (let round = 0; round < ROUNDS_128; round++) {
      this.#mix(lanes([v0[2], v0[3], v0[0], v0[1]].map(swapHalves)));
    }
    const digest = Buffer.alloc(16);
    digest.writeBigUInt64BE(BigInt.asUintN(64, v0[0] + mul0[0] + v1[2] + mul1[2]), 0);
    digest.writeBigUInt64BE(BigInt.asUintN(64, v0[1] + mul0[1] + v1[3] + mul1[3]), 8);
    return digest;
  }

  #mix(packet: Lanes): void {
    const [v0, v1, mul0, mul1] = [this.#v0, this.#v1, this.#mul0, this.#mul1];
    for (const i of LANES) {
      v1[i] += mul0[i] + packet[i];
      mul0[i] ^= (v1[i] & LOW) * (v0[i] >> 32n);
      v0[i] += mul1[i];
      mul1[i] ^= (v0[i] & LOW) * (v1[i] >> 32n);
    }
    for (const i of [0, 2] as const) zipperMerge(v1, v0, i);
    for (const i of [0, 2] as const) zipperMerge(v0, v1, i);
  }
}

function rotate32(half: bigint, count: bigint): bigint {
  return ((half << count) | (half >> (32n - count))) & LOW;
}

/** Adds a permutation of the bytes of two lanes to two others. */
function zipperMerge(from: Lanes, to: Lanes, i: 0 | 2): void {
  const low = from[i];
  const high = from[i === 0 ? 1 : 3];
  to[i] +=
    (((low & 0xff000000n) | (high & 0xff00000000n)) >> 24n) |
    (((low & 0xff0000000000n) | (high & 0xff000000000000n)) >> 16n) |
    (low & 0xff0000n) |
    ((low & 0xff00n) << 32n) |
    ((high & 0xff00000000000000n) >> 8n) |
    ((low & 0xffn) << 56n);
  to[i === 0 ? 1 : 3] +=
    (((high & 0xff000000n) | (low & 0xff00000000n)) >> 24n) |
    (high & 0xff0000n) |
    ((high & 0xff0000000000n) >> 16n) |
    ((high & 0xff00n) << 24n) |
    ((low & 0xff000000000000n) >> 8n) |
    ((high & 0xffn) << 48n) |
    (low & 0xff00000000000000n);
}

/** @returns the 16 bytes that Redisson makes of these bytes */
export function highwayHash128(bytes: Buffer): Buffer {
  const state = new HighwayState();
  const whole = bytes.length - (bytes.length % PACKET);
  for (let at = 0; at < whole; at += PACKET) state.update(bytes.subarray(at, at + PACKET));
  if (whole < bytes.length) state.updateRest(bytes.subarray(whole));
  return state.digest();
}
