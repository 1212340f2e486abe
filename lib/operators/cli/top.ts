import { once } from 'node:events';
import { inTime, lossText } from '../doctor';
import { type InspectionPage, Inspector, type ObjectReport } from '../inspection';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { messageOf, untilSignal } from './exit';
import { oneLine, print } from './output';
import { Screen } from './Screen';
import { objectTable, troubleFirst } from './tables';

/** The options of `top`. */
export interface TopOptions extends ClientOptions {
  readonly expectWaits?: readonly string[];
  /** Time between two frames, in ms. */
  readonly interval: number;
  /** Number of frames; `undefined` = until the user or a signal ends it. */
  readonly count?: number;
}

/** Share of the interval spent on scanning. A longer scan continues in the next frames. */
const SHARE = 1 / 2;
/** Time without an answer, in ms, after which the live view reports that Redis does not answer. The scan goes on. */
const SILENT_MS = 1_500;
/** How long it is shown that locks were lost, in ms. */
const LOSS_SHOWN_MS = 15 * 60_000;
/** Number of lines above the objects: title, trouble, table header. */
const HEAD_LINES = 3;

/**
 * `ioredisson top`: scans the keyspace page by page. A live view on a terminal; otherwise frames, one after the other.
 * @returns the exit code
 */
export async function top(pattern: string | undefined, options: TopOptions): Promise<number> {
  const { expectWaits = [] } = options;
  const inspector = Inspector.open(await readClientOptions(options), { expectedWaits: expectWaits });
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
    // We leave nothing behind in Redis, so quitting need not wait for a slow or dead server.
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
    const lines = [head, oneLine(trouble), ...objectTable(shown, screen?.width).split('\n')];
    const written = screen === undefined ? print(`${lines.join('\n')}\n\n`) : screen.show(lines);
    // A reader that does not read our output must not keep us from ending.
    await Promise.race([written, ended]);
  };
  for (let frame = 0; frame < count && !end.aborted; frame++) {
    let trouble = '';
    const lookUntil = performance.now() + interval * SHARE;
    try {
      let last: boolean;
      do {
        const look = pages.next();
        // Report a frozen server before the command times out.
        if (screen !== undefined && (await isLate(Promise.race([look, ended])))) {
          await draw('Redis does not answer: it is frozen or busy, or the network to it is cut.');
        }
        const page = await Promise.race([look, ended]);
        if (page === undefined) return;
        seen.add(page.value);
        ({ last } = page.value);
      } while (!last && performance.now() < lookUntil);
      trouble = await healthText(inspector, ended);
    } catch (error) {
      // The live view shows an outage instead of ending, and starts the scan again.
      if (screen === undefined) throw error;
      trouble = messageOf(error);
      pages = inspector.pages(pattern);
    }
    await draw(trouble);
    if (frame + 1 < count) await inTime(ended, interval);
  }
}

/** What is wrong with Redis although it answers; empty if nothing is, or nothing is known in time. */
async function healthText(inspector: Inspector, ended: Promise<undefined>): Promise<string> {
  const asked = inspector.health().catch(() => undefined);
  const { refuses, denied, lost } = (await inTime(Promise.race([asked, ended]), SILENT_MS))?.value ?? {};
  return refuses ?? denied ?? (lost !== undefined && Date.now() - lost.at < LOSS_SHOWN_MS ? lossText(lost) : '');
}

/** The objects seen in the current scan and in the one before. */
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

  /** The objects, those in trouble first. @param count - maximum number */
  first(count: number): readonly ObjectReport[] {
    return troubleFirst([...this.#last.values(), ...this.#present.values()]).slice(0, count);
  }
}

async function isLate(look: Promise<unknown>): Promise<boolean> {
  // The caller handles the rejection.
  const ended = look.catch(() => undefined);
  return (await inTime(ended, SILENT_MS)) === undefined;
}
