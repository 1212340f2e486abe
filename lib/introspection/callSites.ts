import path from 'node:path';

/** Where this package is: its own lines are no call sites. */
const PACKAGE = path.resolve(__dirname, '..') + path.sep;
/** Deep enough for the frames of this package above the caller. */
const DEPTH = 40;

/** The line of the user's code that has called this package, `file:line:column`; `undefined` if it cannot be seen. */
export function callSiteHere(): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = DEPTH;
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callSiteHere);
  Error.stackTraceLimit = stackTraceLimit;
  for (const line of String(holder.stack).split('\n')) {
    const place = /\(?((?:file:\/\/)?[^()\s][^()]*:\d+:\d+)\)?$/.exec(line.trim().replace(/^at (?:async )?/, ''))?.[1];
    if (place === undefined || place.startsWith('node:') || place.includes(PACKAGE)) continue;
    return place;
  }
  return undefined;
}
