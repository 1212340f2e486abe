/** Deep enough for the frames of this package above the caller. */
const DEPTH = 40;
const FRAME = /^\s*at (?:async )?(?:.*\()?((?:file:\/\/)?[^()]+?):(\d+:\d+)\)?$/;

/**
 * The line of the user's code that has called this package, `file:line:column`. Lines in the files of this package are
 * none; so in a bundle those in the same file as this package are none either.
 * @returns `undefined` if it cannot be seen
 */
export function callSiteHere(): string | undefined {
  const { stackTraceLimit } = Error;
  let stack: unknown;
  try {
    Error.stackTraceLimit = DEPTH;
    try {
      ({ stack } = new Error());
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  } catch {
    // Error is frozen, or a prepareStackTrace throws: a lock is not refused for that.
  }
  if (typeof stack !== 'string') return undefined;
  let own: string | undefined;
  for (const line of stack.split('\n')) {
    const [, file, place] = FRAME.exec(line) ?? [];
    if (file === undefined || file.startsWith('node:')) continue;
    // The first frame is this function.
    own ??= file.replace(/introspection[\\/]callSites\.\w+$/, '');
    if (!file.startsWith(own)) return `${shownFile(file)}:${place}`;
  }
  return undefined;
}

/** Of an address only what names a file: its query may be a secret, and that of `data:` is the program itself. */
function shownFile(file: string): string {
  if (/^data:/i.test(file)) return 'data:';
  return /^[a-z][a-z0-9+.-]+:/i.test(file) ? file.replace(/[?#].*$/, '') : file;
}
