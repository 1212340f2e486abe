import { findSourceMap } from 'node:module';

/**
 * A line of a stack. Not an error: that would keep alive what its frames refer to, and tests look at what is collected.
 */
interface Place {
  readonly caller: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A timer that was set, and by whom. */
interface Origin {
  readonly timer: WeakRef<NodeJS.Timeout>;
  readonly places: readonly Place[];
}

/** Lines of a stack, the first of which is ours. */
const FRAMES = 6;
/** When there are so many origins, those are forgotten whose timers do not stand any more. */
const MANY = 1_000;

let origins: Origin[] = [];
let many = MANY;

/** From now on it is noted who sets timers. Fake clocks take the place of ours, and give it back. */
export function noteTimers(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const original = globalThis[name] as (...args: unknown[]) => NodeJS.Timeout;
    const noting = (...args: unknown[]): NodeJS.Timeout => {
      const timer = original(...args);
      if (origins.push({ timer: new WeakRef(timer), places: callers() }) > many) {
        origins = origins.filter(stands);
        many = MANY + 2 * origins.length;
      }
      return timer;
    };
    // `promisify` finds its own version there.
    Object.defineProperties(noting, Object.getOwnPropertyDescriptors(original));
    Object.assign(globalThis, { [name]: noting });
  }
}

/** Forgets those that were set before. */
export function forgetTimers(): void {
  origins = [];
  many = MANY;
}

/** Who has set those that still stand and keep the process alive. */
export function standingTimers(): string[] {
  return origins.filter(stands).map(({ places }) => places.map(textOf).join('\n'));
}

function stands({ timer }: Origin): boolean {
  const standing = timer.deref() as (NodeJS.Timeout & { readonly _destroyed: boolean }) | undefined;
  return standing !== undefined && !standing._destroyed && standing.hasRef();
}

/** The stack of whoever has called our caller. */
function callers(): readonly Place[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  Error.prepareStackTrace = (_error, frames) =>
    frames.slice(1).map((frame) => ({
      caller: frame.getFunctionName() ?? '',
      file: frame.getFileName() ?? '',
      line: frame.getLineNumber() ?? 0,
      column: frame.getColumnNumber() ?? 0,
    }));
  const holder = {} as { readonly stack: readonly Place[] };
  try {
    Error.captureStackTrace(holder, callers);
    return holder.stack;
  } finally {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}

/** With the line of the source, where that is known. Not looked up for each timer: that takes too long. */
function textOf({ caller, file, line, column }: Place): string {
  const entry = findSourceMap(file)?.findEntry(line - 1, column - 1);
  const source = entry !== undefined && 'originalLine' in entry ? entry.originalLine + 1 : line;
  return `  ${file}:${source} ${caller}`;
}
