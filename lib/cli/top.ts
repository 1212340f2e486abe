import { constants } from 'node:os';
import { type InspectionPage, Inspector, type ObjectReport } from '../inspection';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, messageOf } from './exit';
import { oneLine, print, within } from './output';
import { Screen } from './Screen';
import { SignalInbox } from './SignalInbox';
import { objectTable } from './tables';

/** The options of `top`. */
export interface TopOptions extends ClientOptions {
  /** Between two frames, in ms. */
  readonly interval: number;
  /** How many frames; `undefined` = until it is told to end. */
  readonly count?: number;
}

/** The lines above the objects: title, trouble, head of the table. */
const HEAD_LINES = 3;

/**
 * `ioredisson top`: a page of the keyspace per tick. On a terminal a live view; otherwise frames, one after the other.
 * @returns the exit code
 */
export async function top(pattern: string | undefined, options: TopOptions): Promise<number> {
  const inspector = Inspector.open(await readClientOptions(options));
  let exitCode: number = ExitCode.ok;
  const end = new AbortController();
  const inbox = new SignalInbox((signal) => {
    // Ctrl-C is how one leaves it.
    if (signal !== 'SIGINT') exitCode = ExitCode.signalled + constants.signals[signal];
    end.abort();
  });
  const screen = Screen.isPossible() ? new Screen(() => end.abort()) : undefined;
  try {
    await showFrames(inspector, pattern, options, end.signal, screen);
  } finally {
    screen?.leave();
    inbox.close();
    // Nothing is left behind in Redis: who quits need not wait for an answer of a server that is slow or gone.
    void inspector.close().catch(() => undefined);
  }
  return exitCode;
}

async function showFrames(
  inspector: Inspector,
  pattern: string | undefined,
  { interval, count = Infinity }: TopOptions,
  end: AbortSignal,
  screen: Screen | undefined,
): Promise<void> {
  const ended = new Promise<undefined>((resolve) => end.addEventListener('abort', () => resolve(undefined)));
  const seen = new Sightings();
  let pages = inspector.pages(pattern);
  for (let frame = 0; frame < count && !end.aborted; frame++) {
    let trouble: string | undefined;
    try {
      const page = await Promise.race([pages.next(), ended]);
      if (page === undefined) return;
      seen.add(page.value);
    } catch (error) {
      // In the live view an outage is something to look at. The walk begins anew.
      if (screen === undefined) throw error;
      trouble = messageOf(error);
      pages = inspector.pages(pattern);
    }
    const shown = seen.first(screen === undefined ? Infinity : Math.max(0, screen.height - HEAD_LINES));
    const keys = screen === undefined ? '' : '  q to quit';
    const lines = frameOf(shown, seen.size, pattern, keys, trouble);
    const written = screen === undefined ? print(`${lines.join('\n')}\n\n`) : screen.show(lines);
    // A reader that takes nothing must not keep us from ending.
    await Promise.race([written, ended]);
    if (frame + 1 < count) await within(ended, interval);
  }
}

/** What was seen on the walk over the keys that is under way and on the one before. */
class Sightings {
  #last = new Map<string, ObjectReport>();
  #present = new Map<string, ObjectReport>();

  add({ reports, last }: InspectionPage): void {
    for (const report of reports) {
      this.#present.set(report.key, report);
      this.#last.delete(report.key);
    }
    if (!last) return;
    this.#last = this.#present;
    this.#present = new Map();
  }

  get size(): number {
    return this.#last.size + this.#present.size;
  }

  /** The most waited for first. @param count - how many at most */
  first(count: number): readonly ObjectReport[] {
    const all = [...this.#last.values(), ...this.#present.values()];
    return all.sort((a, b) => b.waiters - a.waiters || (a.name < b.name ? -1 : 1)).slice(0, count);
  }
}

function frameOf(
  reports: readonly ObjectReport[],
  size: number,
  pattern: string | undefined,
  keys: string,
  trouble: string | undefined,
): string[] {
  const what = pattern === undefined ? '' : ` matching ${oneLine(pattern)}`;
  const time = new Date().toTimeString().slice(0, 8);
  const head = `ioredisson top ${time}  ${size} ${size === 1 ? 'object' : 'objects'}${what}${keys}`;
  return [head, trouble === undefined ? '' : oneLine(trouble), ...objectTable(reports).split('\n')];
}
