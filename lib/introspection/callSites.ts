/** Enough stack frames to reach the caller through this package. */
const DEPTH = 40;
const FRAME = /^\s*at (?:async )?(?:.*\()?((?:file:\/\/)?[^()]+?):(\d+:\d+)\)?$/;

/**
 * The line of the user's code that called this package, `file:line:column`. Lines in the files of this package do not
 * count. In a bundle, that excludes all lines in the bundle's file.
 * @returns `undefined` if the stack does not show it
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
    // Error is frozen, or a prepareStackTrace throws: that must not fail the acquisition.
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

/** The part of a URL that names a file. Its query may be a secret, and a `data:` URL contains the program itself. */
function shownFile(file: string): string {
  if (/^data:/i.test(file)) return 'data:';
  return /^[a-z][a-z0-9+.-]+:/i.test(file) ? file.replace(/[?#].*$/, '') : file;
}
