import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { ExitCode, Failure } from './exit';

/** Time limit for closing the client before the command exits, in ms. */
export const CLEANUP_MS = 3_000;
/** Pause before the next attempt to write to a full pipe, in ms. */
const FULL_PIPE_MS = 10;

const STDOUT = 1;
const STDERR = 2;

/**
 * Prints on stdout.
 * @returns resolves when the system has accepted all of it, however slow the reader is
 * @throws Failure if the reader is gone or the write fails, e.g. on a full disk
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

/** Prints a value as JSON. Resolves when all of it is written. */
export function printJson(value: unknown): Promise<void> {
  return print(`${JSON.stringify(value, null, 2)}\n`);
}

/** For a pipe, a socket or a terminal: writes in the background, so that we still handle signals and keys. */
function writeToStream(stream: Socket, text: string): Promise<void> {
  if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** For a file or a device. A nearly full disk may accept only a part: then the rest is written again, or fails. */
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
 * Prints a message on stderr, on one line.
 *
 * It does not use `process.stderr`, which makes a pipe non-blocking: the command that we run shares that pipe.
 */
export function say(message: string): void {
  sayRaw(`ioredisson: ${oneLine(message)}\n`);
}

/** Writes to stderr unchanged. If that fails, the error cannot be reported anywhere. */
export function sayRaw(text: string): void {
  said = said.then(() => writeToFile(STDERR, text)).catch(() => undefined);
}

/** Resolves when all messages are written. */
export function allSaid(): Promise<void> {
  return said;
}

/**
 * Characters that change the writing direction, break lines or have no width: with them one line can pass for another.
 */
const MISLEADING = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

/**
 * A text without line breaks and control characters, and with misleading ones escaped, as in `\u202e`. So no name and
 * no error reply can forge output.
 */
export function oneLine(text: string): string {
  return text
    .replace(MISLEADING, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .trim()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
