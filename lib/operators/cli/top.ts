import { once } from 'node:events';
import { inTime } from '../doctor';
import { type InspectionPage, Inspector, type ObjectReport } from '../inspection';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { messageOf, untilSignal } from './exit';
import { oneLine, print } from './output';
import { Screen } from './Screen';
import { objectTable, toldSince, troubleFirst, type WaitedSince } from './tables';

/** The options of `top`. */
export interface TopOptions extends ClientOptions {
  /** Between two frames, in ms. */
  readonly interval: number;
  /** How many frames; `undefined` = until it is told to end. */
  readonly count?: number;
}

/** How much of the interval is spent on looking; a keyspace that takes longer takes several frames. */
const SHARE = 1 / 2;
/** A look that takes longer is said to be without an answer, in ms; it goes on. */
const SILENT_MS = 1_500;
/** A wait that was seen for so long, in ms, is shown with its time where its process has not said more. */
const SEEN_MS = 1_000;
/** The lines above the objects: title, trouble, head of the table. */
const HEAD_LINES = 3;

/**
 * `ioredisson top`: a page of the keyspace per tick. On a terminal a live view; otherwise frames, one after the other.
 * @returns the exit code
 */
export async function top(pattern: string | undefined, options: TopOptions): Promise<number> {
  const inspector = Inspector.open(await readClientOptions(options));
  try {
    return await untilSignal(async (end) => {
      const screen = Screen.isPossible() ? new Screen(() => end.abort()) : undefined;
      try {
        await showFrames(inspector, pattern, options, end.signal, screen);
      } finally {
        screen?.leave();
      }
    });
  } finally {
    // Nothing is left behind in Redis: who quits need not wait for an answer of a server that is slow or gone.
    void inspector.close().catch(() => undefined);
  }
}

async function showFrames(
  inspector: Inspector,
  pattern: string | undefined,
  { interval, count = Infinity }: TopOptions,
  end: AbortSignal,
  screen: Screen | undefined,
): Promise<void> {
  const ended = once(end, 'abort').then(() => undefined);
  const seen = new Sightings();
  let pages = inspector.pages(pattern);
  const what = pattern === undefined ? '' : ` matching ${oneLine(pattern)}`;
  const keys = screen === undefined ? '' : '  q to quit';
  const draw = async (trouble: string): Promise<void> => {
    const shown = seen.first(screen === undefined ? Infinity : Math.max(0, screen.height - HEAD_LINES));
    const time = new Date().toTimeString().slice(0, 8);
    const head = `ioredisson top ${time}  ${seen.size} ${seen.size === 1 ? 'object' : 'objects'}${what}${keys}`;
    const lines = [head, oneLine(trouble), ...objectTable(shown, screen?.width, seen.waitedSince).split('\n')];
    const written = screen === undefined ? print(`${lines.join('\n')}\n\n`) : screen.show(lines);
    // A reader that takes nothing must not keep us from ending.
    await Promise.race([written, ended]);
  };
  for (let frame = 0; frame < count && !end.aborted; frame++) {
    let trouble = '';
    const lookUntil = performance.now() + interval * SHARE;
    try {
      let last: boolean;
      do {
        const look = pages.next();
        // A frozen server is shown as such before the command gives up.
        if (screen !== undefined && (await isLate(Promise.race([look, ended])))) {
          await draw('Redis does not answer: it is frozen or busy, or the way to it is cut.');
        }
        const page = await Promise.race([look, ended]);
        if (page === undefined) return;
        seen.add(page.value);
        ({ last } = page.value);
      } while (!last && performance.now() < lookUntil);
    } catch (error) {
      // In the live view an outage is something to look at. The walk begins anew.
      if (screen === undefined) throw error;
      trouble = messageOf(error);
      pages = inspector.pages(pattern);
    }
    await draw(trouble);
    if (frame + 1 < count) await inTime(ended, interval);
  }
}

/** What was seen on the walk over the keys that is under way and on the one before. */
class Sightings {
  #last = new Map<string, ObjectReport>();
  #present = new Map<string, ObjectReport>();
  /** Key -> since when somebody was seen waiting, in ms since 1970. */
  readonly #waitedSince = new Map<string, number>();

  add({ reports, last }: InspectionPage): void {
    for (const report of reports) {
      if (report.waiters === 0) this.#waitedSince.delete(report.key);
      else this.#waitedSince.set(report.key, this.#waitedSince.get(report.key) ?? Date.now());
      this.#present.set(report.key, report);
      this.#last.delete(report.key);
    }
    if (!last) return;
    for (const key of this.#last.keys()) this.#waitedSince.delete(key);
    this.#last = this.#present;
    this.#present = new Map();
  }

  get size(): number {
    return this.#last.size + this.#present.size;
  }

  /** Since when somebody has waited, as the processes say, else has been seen waiting. */
  readonly waitedSince: WaitedSince = (report) => {
    const seen = this.#waitedSince.get(report.key) ?? Infinity;
    // What was only just seen may have waited for long.
    return toldSince(report) ?? (Date.now() - seen >= SEEN_MS ? seen : undefined);
  };

  /** What is in trouble first. @param count - how many at most */
  first(count: number): readonly ObjectReport[] {
    return troubleFirst([...this.#last.values(), ...this.#present.values()], this.waitedSince).slice(0, count);
  }
}

async function isLate(look: Promise<unknown>): Promise<boolean> {
  // What it rejects with, the caller sees.
  const ended = look.catch(() => undefined);
  return (await inTime(ended, SILENT_MS)) === undefined;
}
