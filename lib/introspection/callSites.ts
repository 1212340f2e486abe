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
  Error.stackTraceLimit = DEPTH;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  let own: string | undefined;
  for (const line of stack.split('\n')) {
    const [, file, place] = FRAME.exec(line) ?? [];
    if (file === undefined || file.startsWith('node:')) continue;
    // The first frame is this function.
    own ??= file.replace(/introspection[\\/]callSites\.\w+$/, '');
    if (!file.startsWith(own)) return `${file}:${place}`;
  }
  return undefined;
}
