import type { Finding } from '../../../lib/operators/doctor';
import type { ObjectReport } from '../../../lib/operators/inspection';
import type { LockDetail, WindowView } from '../../../lib/operators/dashboard/wire';
import { cli } from '../../cli/support/CliProcess';
import { ask } from '../support/world';
import type { World } from './scenes';

/** The gauges of a lock in one process. */
export interface Gauges {
  readonly oldestWait: number;
  readonly longestHold: number;
  readonly waiters: number;
}

/** What all tools say about a scene. */
export interface Answers {
  readonly list: string;
  readonly listJson: readonly ObjectReport[];
  readonly inspect: string;
  readonly inspectJson: ObjectReport;
  readonly top: string;
  /** The list of the page. */
  readonly window: WindowView;
  /** What the page shows of the lock. */
  readonly detail: LockDetail;
  /** Of each process that can be asked, in their order. */
  readonly metrics: readonly Gauges[];
  readonly doctor: readonly Finding[];
}

/** A frame of `top` ends when all locks are in it, or after half of its interval: long enough for a busy machine. */
const WHOLE_FRAME = ['--interval', '20s', '--count', '1'];

/**
 * Asks all tools about a lock of a scene. One command runs at a time: together they are what a busy machine is to each.
 * @param many - whether there are too many locks for one frame of `top`
 */
export async function askTools(
  { url, base, processes, options }: World,
  lock: string,
  many: boolean,
): Promise<Answers> {
  let before: Promise<unknown> = Promise.resolve();
  const command = (...args: string[]): Promise<string> => {
    const run = before.then(() => runCommand(...args));
    before = run.catch(() => undefined);
    return run;
  };
  const runCommand = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await cli(args, { env: { REDIS_URL: url } });
    if (stderr !== '') throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const page = (path: string): Promise<unknown> => askPage(base, path);
  const gauges = processes
    .filter(({ runs }) => runs)
    .map(async (one): Promise<Gauges> => {
      const read = async (name: string): Promise<number> => (await one.metric(`lock_${name}`, lock)) ?? 0;
      return {
        oldestWait: await read('oldest_wait_seconds'),
        longestHold: await read('longest_hold_seconds'),
        waiters: await read('waiters'),
      };
    });
  const [metrics, window, detail, list, listJson, inspect, inspectJson, top, doctor] = await Promise.all([
    Promise.all(gauges),
    page('locks'),
    page(`lock?name=${encodeURIComponent(lock)}`),
    command('list', ...options),
    command('list', '--json', ...options),
    command('inspect', lock, ...options),
    command('inspect', '--json', lock, ...options),
    command('top', ...options, ...(many ? ['--count', '1'] : WHOLE_FRAME)),
    command('doctor', '--json'),
  ]);
  return {
    ...{ metrics, list, inspect, top },
    window: window as WindowView,
    detail: (detail as { lock: LockDetail }).lock,
    listJson: JSON.parse(listJson) as ObjectReport[],
    inspectJson: JSON.parse(inspectJson) as ObjectReport,
    doctor: JSON.parse(doctor) as Finding[],
  };
}

/** How many locks are in trouble, as the page knows. */
export async function troubleOnPage({ base }: World): Promise<number> {
  return ((await askPage(base, 'locks')) as WindowView).counts.trouble;
}

/** The page's verdict on a lock; `undefined`: there is none. */
export async function verdictOnPage({ base }: World, lock: string): Promise<LockDetail['verdict'] | undefined> {
  return ((await askPage(base, `lock?name=${encodeURIComponent(lock)}`)) as { lock: LockDetail | null }).lock?.verdict;
}

async function askPage(base: string, path: string): Promise<unknown> {
  return JSON.parse((await ask(`${base}/api/${path}`)).text);
}
