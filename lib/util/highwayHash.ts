/**
 * HighwayHash-128 (Google): how Redisson turns a value of a group lock into a name of a hash field. A value has one
 * field name for all clients, so every bit counts.
 *
 * Written with 32-bit halves: with BigInt, 40 000 values would block the event loop for most of a second.
 */

/** Lanes of 64 bits as pairs of halves, the low half first; what is written to one wraps around. */
const V0 = 0;
const V1 = 8;
const MUL0 = 16;
const MUL1 = 24;
/** Halves in four lanes. */
const LANES = 8;

/** Redisson's key, and the constants of the algorithm. Source: `org.redisson.misc.Hash`. */
const KEY = halves([0x9e3779b97f4a7c15n, 0xf39cc0605cedc834n, 0x1082276bf3a27251n, 0xf86c6a11d0c18e95n]);
const INITIAL_0 = halves([0xdbe6d5d5fe4cce2fn, 0xa4093822299f31d0n, 0x13198a2e03707344n, 0x243f6a8885a308d3n]);
const INITIAL_1 = halves([0x3bd39e10cb0ef593n, 0xc0acf169b5f18a8cn, 0xbe5466cf34e90c6cn, 0x452821e638d01377n]);

/** Bytes of a packet. */
const PACKET = 32;
const ROUNDS_128 = 6;

function halves(values: readonly bigint[]): Int32Array {
  return Int32Array.from(values.flatMap((value) => [Number(value & 0xffffffffn), Number(value >> 32n)]));
}

/** The state before the first packet. */
const FRESH = Int32Array.from([
  ...INITIAL_0.map((initial, i) => initial ^ KEY[i]!),
  ...INITIAL_1.map((initial, i) => initial ^ KEY[i ^ 1]!),
  ...INITIAL_0,
  ...INITIAL_1,
]);

/** The state, the packet, and the last packet of the one hash that is computed at a time. */
const state = new Int32Array(4 * LANES);
const packet = new Int32Array(LANES);
const padded = Buffer.alloc(PACKET);

/** `state[to] += low + high * 2^32`, 64 bits. */
function add(to: number, low: number, high: number): void {
  const sum = (state[to]! + low) | 0;
  state[to] = sum;
  state[to + 1] = (state[to + 1]! + high + (sum >>> 0 < low >>> 0 ? 1 : 0)) | 0;
}

/** `state[to] ^= a * b`, 32 bits each. */
function xorProduct(to: number, a: number, b: number): void {
  const left = Math.imul(a >>> 16, b & 0xffff);
  const right = Math.imul(a & 0xffff, b >>> 16);
  const middle = (Math.imul(a & 0xffff, b & 0xffff) >>> 16) + (left & 0xffff) + (right & 0xffff);
  state[to]! ^= Math.imul(a, b);
  state[to + 1]! ^= (Math.imul(a >>> 16, b >>> 16) + (left >>> 16) + (right >>> 16) + (middle >>> 16)) | 0;
}

/** Mixes in {@link packet}. */
function mix(): void {
  for (let i = 0; i < LANES; i += 2) {
    add(V1 + i, state[MUL0 + i]!, state[MUL0 + i + 1]!);
    add(V1 + i, packet[i]!, packet[i + 1]!);
    xorProduct(MUL0 + i, state[V1 + i]!, state[V0 + i + 1]!);
    add(V0 + i, state[MUL1 + i]!, state[MUL1 + i + 1]!);
    xorProduct(MUL1 + i, state[V0 + i]!, state[V1 + i + 1]!);
  }
  for (let i = 0; i < LANES; i += 4) zipperMerge(V1 + i, V0 + i);
  for (let i = 0; i < LANES; i += 4) zipperMerge(V0 + i, V1 + i);
}

/** Adds a permutation of the bytes of two lanes to two others. */
function zipperMerge(from: number, to: number): void {
  const a0 = state[from]!;
  const a1 = state[from + 1]!;
  const b0 = state[from + 2]!;
  const b1 = state[from + 3]!;
  add(
    to,
    (a0 >>> 24) | ((b1 & 0xff) << 8) | (a0 & 0xff0000) | ((a1 & 0xff00) << 16),
    ((b1 >>> 16) & 0xff) | (a0 & 0xff00) | ((b1 >>> 8) & 0xff0000) | ((a0 & 0xff) << 24),
  );
  add(
    to + 2,
    (b0 >>> 24) | ((a1 & 0xff) << 8) | (b0 & 0xff0000) | ((b1 & 0xff00) << 16),
    ((b0 >>> 8) & 0xff) | ((a1 >>> 8) & 0xff00) | ((b0 & 0xff) << 16) | (a1 & 0xff000000),
  );
}

/** Takes in a packet of 32 bytes. */
function read(bytes: Buffer): void {
  for (let i = 0; i < LANES; i++) packet[i] = bytes.readInt32LE(4 * i);
  mix();
}

/** Takes in what is left behind the last whole packet: 1 to 31 bytes. */
function readRest(rest: Buffer): void {
  const size = rest.length;
  for (let i = 0; i < LANES; i += 2) add(V0 + i, size, size);
  for (let i = 0; i < LANES; i++) state[V1 + i] = (state[V1 + i]! << size) | (state[V1 + i]! >>> (32 - size));
  padded.fill(0);
  const whole = size & ~3;
  const odd = size & 3;
  rest.copy(padded, 0, 0, whole);
  if ((size & 16) !== 0) rest.copy(padded, PACKET - 4, size - 4);
  else if (odd > 0) {
    padded[16] = rest[whole]!;
    padded[17] = rest[whole + (odd >> 1)]!;
    padded[18] = rest[whole + odd - 1]!;
  }
  read(padded);
}

/** @returns the 16 bytes that Redisson makes of these bytes */
export function highwayHash128(bytes: Buffer): Buffer {
  state.set(FRESH);
  const whole = bytes.length - (bytes.length % PACKET);
  for (let at = 0; at < whole; at += PACKET) read(bytes.subarray(at, at + PACKET));
  if (whole < bytes.length) readRest(bytes.subarray(whole));
  for (let round = 0; round < ROUNDS_128; round++) {
    // The lanes in the order 2, 3, 0, 1, each with its halves swapped.
    for (let i = 0; i < LANES; i++) packet[i] = state[V0 + (i ^ 5)]!;
    mix();
  }
  const digest = Buffer.allocUnsafe(16);
  for (const lane of [0, 2]) {
    add(V0 + lane, state[MUL0 + lane]!, state[MUL0 + lane + 1]!);
    add(V0 + lane, state[V1 + 4 + lane]!, state[V1 + 5 + lane]!);
    add(V0 + lane, state[MUL1 + 4 + lane]!, state[MUL1 + 5 + lane]!);
    digest.writeInt32BE(state[V0 + lane + 1]!, 4 * lane);
    digest.writeInt32BE(state[V0 + lane]!, 4 * lane + 4);
  }
  return digest;
}
