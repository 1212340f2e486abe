import type { Finding } from '../../../lib/operators/doctor';
import type { ObjectReport } from '../../../lib/operators/inspection';
import type { HealthView, LockDetail, WindowView } from '../../../lib/operators/dashboard/wire';
import { cli } from '../../cli/support/CliProcess';
import { ask } from '../../dashboard/support/world';
import type { Play, Stage } from './Stage';

/** The gauges of a lock in one process. */
export interface Gauges {
  readonly oldestWait: number;
  readonly longestHold: number;
  readonly waiters: number;
}

/** What the tools say of a whole stage. */
export interface Overview {
  readonly list: string;
  readonly listJson: readonly ObjectReport[];
  readonly top: string;
  /** The list of the page. */
  readonly window: WindowView;
  readonly health: HealthView;
}

/** What the tools say of one lock. */
export interface CloseUp {
  readonly inspect: string;
  readonly inspectJson: ObjectReport;
  /** What the page shows of it. */
  readonly detail: LockDetail;
  /** Of each process that can be asked, in their order. */
  readonly metrics: readonly Gauges[];
}

/** A frame of `top` ends when all locks are in it, or after half of its interval: long enough for a busy machine. */
const WHOLE_FRAME = ['--interval', '20s', '--count', '1'];

/** So many commands run at a time: they are what a busy machine is to each other. */
const AT_ONCE = 4;
let running = 0;
const waiting: (() => void)[] = [];

/** What a command says on stderr although Redis is well: its exit code is not 0. */
const NO_LOCK = /^ioredisson: the key '[^']+' holds data that are no lock or synchronizer\n$/;

/** Runs a command on the server of a stage. It must have nothing to say on stderr: Redis is well. */
async function command({ url }: Stage, ...args: string[]): Promise<string> {
  if (running === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    const { stdout, stderr } = await cli(args, { env: { REDIS_URL: url } });
    if (stderr !== '' && !(args[0] === 'inspect' && NO_LOCK.test(stderr)))
      throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout;
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** @param many - whether there are too many locks for one frame of `top` */
export async function overviewOf(stage: Stage, many = false): Promise<Overview> {
  const { base, options } = stage;
  const [window, health, list, listJson, top] = await Promise.all([
    askPage(base, 'locks?limit=200'),
    askPage(base, 'health'),
    command(stage, 'list', ...options),
    command(stage, 'list', '--json', ...options),
    command(stage, 'top', ...options, ...(many ? ['--count', '1'] : WHOLE_FRAME)),
  ]);
  return {
    ...{ list, top },
    window: window as WindowView,
    health: health as HealthView,
    listJson: JSON.parse(listJson) as ObjectReport[],
  };
}

export async function closeUpOf({ stage, processes }: Play, lock: string): Promise<CloseUp> {
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
  const [metrics, detail, inspect, inspectJson] = await Promise.all([
    Promise.all(gauges),
    detailOnPage(stage, lock),
    command(stage, 'inspect', lock, ...stage.options),
    command(stage, 'inspect', '--json', lock, ...stage.options),
  ]);
  return { metrics, inspect, inspectJson: JSON.parse(inspectJson) as ObjectReport, detail: detail! };
}

/** What the doctor finds. */
export async function doctorOf(stage: Stage): Promise<readonly Finding[]> {
  return JSON.parse(await command(stage, 'doctor', '--json')) as Finding[];
}

/** The locks that are in trouble, as the page knows, with their verdicts; those that come and go are not. */
export async function troubleOnPage({ base }: Stage): Promise<readonly string[]> {
  const { rows } = (await askPage(base, 'locks?state=trouble&limit=200')) as WindowView;
  return rows
    .map(({ name, verdict }) => `${name} ${verdict.kind}${verdict.amber === true ? ', long wait' : ''}`)
    .sort();
}

/** What the page shows of a lock; `undefined`: nothing has that name. */
export async function detailOnPage({ base }: Stage, lock: string): Promise<LockDetail | undefined> {
  const path = `lock?name=${encodeURIComponent(lock)}`;
  return ((await askPage(base, path)) as { lock: LockDetail | null }).lock ?? undefined;
}

async function askPage(base: string, path: string): Promise<unknown> {
  return JSON.parse((await ask(`${base}/api/${path}`)).text);
}
