/** How long a farewell to Redis may keep the command, in ms. */
export const FAREWELL_MS = 3_000;

/** Says something on stderr, in one line. */
export function say(message: string): void {
  process.stderr.write(`ioredisson: ${oneLine(message)}\n`);
}

/** A text without line breaks and control characters, so that nobody's name or error reply can forge output. */
export function oneLine(text: string): string {
  return text.trim().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/**
 * Waits for something, but not for ever.
 * @param limitMs - how long, in ms
 * @returns what it resolves to, or `undefined` when the time is over first
 * @throws what it rejects with in that time
 */
export async function within<T>(promise: Promise<T>, limitMs: number): Promise<{ readonly value: T } | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  try {
    return await Promise.race([promise.then((value) => ({ value })), late]);
  } finally {
    clearTimeout(timer);
  }
}
