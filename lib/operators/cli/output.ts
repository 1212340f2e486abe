import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { ExitCode, Failure } from './exit';

/** How long closing the client may keep the command, in ms. */
export const CLEANUP_MS = 3_000;
/** The pause before a write is tried again where the other end takes nothing at the moment, in ms. */
const FULL_PIPE_MS = 10;

const STDOUT = 1;
const STDERR = 2;

/**
 * Prints on stdout.
 * @returns resolves when the system has taken all of it, however slow the reader is
 * @throws Failure where the reader has gone, or it cannot be written, e.g. on a full disk
 */
export async function print(text: string): Promise<void> {
  try {
    const stream = process.stdout as unknown;
    if (stream instanceof Socket) await writeToStream(stream, text);
    else await writeToFile(STDOUT, text);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const isGone = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(code);
    const exitCode = isGone ? ExitCode.readerGone : ExitCode.output;
    throw new Failure(`the output cannot be written: ${message}`, exitCode, { cause: error });
  }
}

/** Prints something as JSON. Resolves when all of it is written. */
export function printJson(value: unknown): Promise<void> {
  return print(`${JSON.stringify(value, null, 2)}\n`);
}

/** A pipe, a socket, a terminal: in the background, so that signals and keys are heard meanwhile. */
function writeToStream(stream: Socket, text: string): Promise<void> {
  if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** A file or a device. A nearly full disk may take a part: the rest is written again, or is an error. */
async function writeToFile(descriptor: number, text: string): Promise<void> {
  for (let rest = Buffer.from(text); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await new Promise((resolve) => setTimeout(resolve, FULL_PIPE_MS));
    }
  }
}

let said = Promise.resolve();

/**
 * Says something on stderr, in one line.
 *
 * It does not use `process.stderr`, which makes a pipe non-blocking: the command that we run has the same one.
 */
export function say(message: string): void {
  sayRaw(`ioredisson: ${oneLine(message)}\n`);
}

/** Writes to stderr as it is. Where that fails there is nobody left to tell. */
export function sayRaw(text: string): void {
  said = said.then(() => writeToFile(STDERR, text)).catch(() => undefined);
}

/** Resolves when all that was said has been written. */
export function allSaid(): Promise<void> {
  return said;
}

/**
 * Characters that turn the direction of writing, break lines or have no width: they make a line read as another one.
 */
const MISLEADING = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

/**
 * A text without line breaks and control characters, and with misleading ones as `\u202e`, so that nobody's name or
 * error reply can forge output.
 */
export function oneLine(text: string): string {
  return text
    .replace(MISLEADING, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .trim()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
