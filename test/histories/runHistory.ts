import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Redis } from 'ioredis';
import { RedisServer } from '../../tools/redisServer';
import { monotonicNow, sleep } from '../../tools/realTimers';
import { Random } from '../faults/Random';
import { failSaves, type Trouble, Troublemaker } from '../faults/Troublemaker';
import { bundle, type Mutation } from '../simulation/bundle';
import { TcpProxy } from '../support/TcpProxy';
import { check, type Verdict } from './check/check';
import { Fleet } from './Fleet';
import { readHistory, withoutTickets } from './history';
import { judgeByPorcupine, type PorcupineJudge, type PorcupineVerdict } from './porcupine';
import { Recorder } from './Recorder';

/** Who judges a history. */
export interface Judges {
  /** @default true */
  readonly check?: boolean;
  /** A second judge, written by somebody who has not read the first one. */
  readonly porcupine?: PorcupineJudge | undefined;
}

/** What they say. */
export interface Judged {
  /** How many calls there were. */
  readonly operations: number;
  readonly verdict: Verdict | undefined;
  readonly porcupine: PorcupineVerdict | undefined;
}

/** How to make a history. */
export interface RunOptions extends Judges {
  readonly seed: number;
  /** So many calls. */
  readonly ops: number;
  /** And no longer than so many ms, counted from the first. */
  readonly timeMs: number;
  readonly processes: number;
  /** Of each process. */
  readonly clients: number;
  /** Of each client. */
  readonly actors: number;
  /** The longest pause between two bursts of trouble, in ms. */
  readonly calmMs: number;
  /** A way to break lib. */
  readonly mutation?: Mutation | undefined;
  /** Is told a line now and then. */
  readonly progress?: (line: string) => void;
}

/** What came out. */
export interface RunResult extends Judged {
  /** Where the history is. */
  readonly folder: string;
  readonly processes: number;
  readonly durationMs: number;
}

const RAGE_MS = 1_500;
const PROGRESS_MS = 10_000;
/** No lease is longer, and what was not given back is over then; the rest is for a busy machine. */
const LEFT_MS = 12_000;
/** What stays on purpose: counters of tokens, the places of dead waiters, and what has no owner. */
const STAYS = /redisson_lock_(token|queue|timeout|claim)|redisson_(sem|ttl|queue)|:(semaphore|permits|latch)\b/;

/** Runs processes on a server of their own while somebody makes trouble, and has their history judged. */
export async function runHistory(options: RunOptions): Promise<RunResult> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-history-'));
  const program = await bundle(options.mutation, path.join(__dirname, 'client.ts'));
  const startedAt = monotonicNow();
  try {
    const processes = await makeHistory(options, folder, program);
    const durationMs = monotonicNow() - startedAt;
    return { ...(await judgeHistory(folder, options)), folder, processes, durationMs };
  } finally {
    fs.rmSync(program, { force: true });
  }
}

/** Judges a history that was made before. */
export async function judgeHistory(folder: string, { check: first = true, porcupine }: Judges): Promise<Judged> {
  const events = readHistory(folder);
  return {
    operations: events.filter(({ type }) => type === 'invoke').length,
    // It does not know tickets.
    verdict: first ? check(withoutTickets(events)) : undefined,
    porcupine:
      porcupine === undefined || 'reason' in porcupine ? undefined : await judgeByPorcupine(porcupine.file, folder),
  };
}

async function makeHistory(options: RunOptions, folder: string, program: string): Promise<number> {
  const random = new Random(options.seed);
  const recorder = new Recorder(path.join(folder, '0.jsonl'), 0);
  const server = await RedisServer.start();
  const proxy = await TcpProxy.start(server.url);
  const direct = new Redis(server.url, { connectionName: 'checker' });
  // Every third process is behind a proxy, which loses replies.
  const urls = [proxy.url, server.url, server.url];
  let fleet: Fleet | undefined;
  try {
    await failSaves(direct);
    const { processes, clients, actors } = options;
    fleet = new Fleet({ program, folder, urls, processes, clients, actors }, random.fork(), recorder);
    await trouble(options, fleet, recorder, new Troubled(server, proxy, direct), random);
    await fleet.stop();
    await nothingLeft(direct, recorder);
    return fleet.started;
  } finally {
    fleet?.kill();
    direct.disconnect();
    proxy.close();
    await server.stop();
    recorder.close();
  }
}

/** What trouble is made for. */
class Troubled {
  constructor(
    readonly server: RedisServer,
    readonly proxy: TcpProxy,
    readonly direct: Redis,
  ) {}
}

/** Bursts of it, with calm between them, until there are enough calls, or it took too long. */
async function trouble(
  { ops, timeMs, calmMs, progress }: RunOptions,
  fleet: Fleet,
  recorder: Recorder,
  { server, proxy, direct }: Troubled,
  random: Random,
): Promise<void> {
  const more: Trouble[] = [
    { title: 'kill -9 a client', make: () => fleet.killOne() },
    { title: 'stop a client', make: () => fleet.freezeOne(random.between(100, 2_500)) },
    {
      title: 'pause the server past the leases',
      make: async () => {
        server.pause();
        await sleep(random.between(1_000, 2_000));
        server.resume();
      },
    },
  ];
  while (fleet.done === 0) await sleep(20);
  const startedAt = monotonicNow();
  let toldAt = startedAt;
  const over = (): boolean => fleet.done >= ops || monotonicNow() - startedAt > timeMs;
  while (!over()) {
    const calmUntil = monotonicNow() + random.between(300, calmMs);
    while (!over() && monotonicNow() < calmUntil) await sleep(50);
    const maker = new Troublemaker(random.fork(), server, [proxy], direct, more);
    maker.onTrouble = (title) => recorder.note('fault', title);
    if (!over()) await maker.rage(RAGE_MS);
    if (monotonicNow() - toldAt < PROGRESS_MS) continue;
    toldAt = monotonicNow();
    const seconds = (toldAt - startedAt) / 1_000;
    const rate = Math.round(fleet.done / seconds);
    progress?.(`${Math.round(seconds)} s: ${fleet.done} calls, ${rate} per second, ${fleet.started} processes so far`);
  }
}

/** Nobody is there any more: when the leases are over, nothing of any lock may be left. */
async function nothingLeft(direct: Redis, recorder: Recorder): Promise<void> {
  const endsAt = monotonicNow() + LEFT_MS;
  let left: string[];
  do {
    await sleep(50);
    left = (await direct.keys('*')).filter((key) => !STAYS.test(key));
  } while (left.length > 0 && monotonicNow() < endsAt);
  if (left.length > 0) recorder.note('wrong', `left behind: ${left.join(', ')}`);
}
