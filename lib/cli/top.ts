import { constants } from 'node:os';
import type { InspectionPage, Inspector, ObjectReport } from '../inspection';
import type { ClientOptions } from './clientOptions';
import { ExitCode } from './exitCodes';
import { messageOf } from './failure';
import { inspecting } from './inspecting';
import { oneLine, within } from './output';
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

/**
 * `ioredisson top`: a page of the keyspace per tick. On a terminal a live view; otherwise frames, one after the other.
 * @returns the exit code
 */
export async function top(pattern: string | undefined, options: TopOptions): Promise<number> {
  return inspecting(options, async (inspector) => {
    let exitCode: number = ExitCode.ok;
    const end = new AbortController();
    const inbox = new SignalInbox((signal) => {
      // Ctrl-C is how one leaves it.
      if (signal !== 'SIGINT') exitCode = ExitCode.signalled + constants.signals[signal];
      end.abort();
    });
    const screen = process.stdout.isTTY ? new Screen(() => end.abort()) : undefined;
    try {
      await showFrames(inspector, pattern, options, end.signal, screen);
    } finally {
      screen?.leave();
      inbox.close();
    }
    return exitCode;
  });
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
    const lines = frameOf(seen.reports, pattern, trouble);
    if (screen === undefined) process.stdout.write(`${lines.join('\n')}\n\n`);
    else screen.show(lines);
    if (frame + 1 < count) await within(ended, interval);
  }
}

/** What was seen on the walk over the keys that is under way and on the one before. */
class Sightings {
  #last = new Map<string, ObjectReport>();
  #present = new Map<string, ObjectReport>();

  add({ reports, last }: InspectionPage): void {
    for (const report of reports) this.#present.set(report.key, report);
    if (!last) return;
    this.#last = this.#present;
    this.#present = new Map();
  }

  /** The most waited for first. */
  get reports(): readonly ObjectReport[] {
    const all = [...new Map([...this.#last, ...this.#present]).values()];
    return all.sort((a, b) => b.waiters - a.waiters || (a.name < b.name ? -1 : 1));
  }
}

function frameOf(reports: readonly ObjectReport[], pattern: string | undefined, trouble: string | undefined): string[] {
  const what = pattern === undefined ? '' : ` matching ${oneLine(pattern)}`;
  const time = new Date().toTimeString().slice(0, 8);
  const head = `ioredisson top ${time}  ${reports.length} object(s)${what}  q to quit`;
  return [head, trouble === undefined ? '' : oneLine(trouble), ...objectTable(reports).split('\n')];
}
