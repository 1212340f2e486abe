import { Redisson } from '../../lib';
import { Random } from '../faults/Random';
import { sleep } from '../../tools/realTimers';
import { LockActor, type Stage } from './LockActor';
import { Recorder } from './Recorder';
import { SynchronizerActor } from './SynchronizerActor';
import { type Letter, TicketActor } from './TicketActor';

/*
 * A process of a history: several clients, and several actors of each, which take and give back at random until they
 * are told to stop, or are killed. Bundled and started by Fleet.ts.
 */

/** How a process is started. */
export interface ClientOptions {
  readonly url: string;
  readonly seed: number;
  /** Its number in the history. */
  readonly process: number;
  /** Where it writes its history. */
  readonly file: string;
  readonly clients: number;
  /** Of each client. */
  readonly actors: number;
}

/** What it tells, several times a second: how many calls have ended. And tickets, for any process. */
export type ClientReport = number | Letter;
/** What it is told: to stop, or a ticket. */
export type ClientOrder = 'stop' | Letter;

const WATCHDOG_MS = 1_500;
const REPORT_MS = 250;
/** More than any wait and any outage of it. */
const DRAIN_MS = 30_000;

const options = JSON.parse(process.argv[2] ?? '{}') as ClientOptions;
const recorder = new Recorder(options.file, options.process);
const random = new Random(options.seed);
/** Tickets that have come, and nobody has taken up yet. */
const letters: Letter[] = [];
let stopping = false;

process.on('warning', (warning: Error & { readonly code?: string }) => {
  // A branch that waits for 5 s is told so; in an outage that is the truth.
  if (warning.code !== 'IOREDISSON_SELF_WAIT') recorder.note('wrong', `warning: ${warning.message}`);
});
process.on('unhandledRejection', (reason) => {
  recorder.note('wrong', `unhandled rejection: ${reason instanceof Error ? (reason.stack ?? '') : String(reason)}`);
});
// Who started it is gone.
process.on('disconnect', () => process.exit());

async function act(stage: Stage): Promise<void> {
  const locks = new LockActor(stage);
  const synchronizers = new SynchronizerActor(stage);
  const tickets = new TicketActor(stage, (letter) => process.send?.(letter));
  while (!stopping) {
    const { faults } = recorder;
    const letter = letters.shift();
    if (letter !== undefined) await tickets.takeUp(letter);
    else if (stage.random.chance(5)) await tickets.act();
    else await (stage.random.chance(80) ? locks : synchronizers).act();
    // Nobody tries on at once when Redis is away.
    if (recorder.faults > faults) await sleep(stage.random.between(1, 20));
  }
}

async function main(): Promise<void> {
  const settings = { timeout: 400, retryAttempts: 2, lockWatchdogTimeout: WATCHDOG_MS, fairLockWaitTimeout: 5_000 };
  const clients = Array.from({ length: options.clients }, () => Redisson.create({ url: options.url, ...settings }));
  const acting = clients.flatMap((client) =>
    Array.from({ length: options.actors }, () =>
      act({ client, recorder, random: random.fork(), watchdogMs: WATCHDOG_MS }),
    ),
  );
  const reports = setInterval(() => process.send?.(recorder.done), REPORT_MS);
  const stopped = new Promise<void>((resolve) => {
    process.on('message', (order: ClientOrder) => {
      if (order !== 'stop') return void letters.push(order);
      stopping = true;
      resolve();
    });
  });
  // What does not end by then is a finding: its call has no end in the history.
  await Promise.race([Promise.all(acting), stopped.then(() => sleep(DRAIN_MS))]);
  clearInterval(reports);
  await Promise.all(clients.map((client) => client.shutdown()));
  recorder.note('ended');
  process.exit();
}

void main();
