import { randomUUID } from 'node:crypto';
import { ALL_KINDS, inTime } from '../doctor';
import { type LockHold, LockLostError, type ObjectKind, Redisson, type RLock } from '../../index';
import type * as inspectionModule from '../inspection';
import { acquireForRun, leave, type Wish } from './acquireForRun';
import { ChildGroup } from './ChildGroup';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, Failure, messageOf, receiveSignals, signalExitCode } from './exit';
import { GroupEar } from './GroupEar';
import { Guard } from './Guard';
import { environmentInside, isNested, refuseNested } from './nesting';
import { CLEANUP_MS, say } from './output';
import { hasTerminal } from './processes';
import { sayWhoHolds, sayWhyNot } from './waitReports';

/** The shortest pause between two looks, in ms. */
const MIN_PAUSE_MS = 5;
/** The watchdog renews every third of its time-out, so that two thirds of the lease are left as long as it works. */
const RENEWALS_PER_TIMEOUT = 3;

/** The options of `run`, as commander reads them. Times in ms. */
export interface RunOptions extends ClientOptions, Wish {
  readonly nonblock?: true;
  readonly verbose?: true;
  readonly type: ObjectKind;
  readonly conflictExitCode: number;
  /** The lock stays for so long at least, counted from when it was acquired. */
  readonly atLeast?: number;
  /** Between TERM and KILL. */
  readonly grace: number;
}

/** `ioredisson run`. @returns the exit code */
export async function run(name: string, command: readonly string[], options: RunOptions): Promise<number> {
  if (process.platform === 'win32') {
    throw new Failure('run needs POSIX signals and process groups: use it within WSL', ExitCode.unavailable);
  }
  const config = await readClientOptions(options);
  const inspector = options.verbose === true || isNested() ? inspectorOf(config) : undefined;
  const client = Redisson.create(config);
  try {
    if (inspector !== undefined && isNested()) await refuseNested(inspector, name, options.type);
    const { lockOf } = ALL_KINDS.find((kind) => kind.name === options.type)!;
    const reporter = options.verbose === true ? inspector : undefined;
    return await new LockedRun({ client, lock: lockOf!(client, name), command, options, reporter }).run();
  } finally {
    await Promise.all([inTime(client.shutdown(), CLEANUP_MS), inspector && inTime(inspector.close(), CLEANUP_MS)]);
  }
}

/** Loaded when asked for: `run` starts as fast as it can. */
function inspectorOf(config: Parameters<typeof Redisson.create>[0]): inspectionModule.Inspector {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { Inspector } = require('../inspection') as typeof inspectionModule;
  return Inspector.open(config);
}

/** What a {@link LockedRun} is to do. */
interface Job {
  readonly client: Redisson;
  readonly lock: RLock;
  readonly command: readonly string[];
  readonly options: RunOptions;
  /** Knows who holds the lock, where that is to be said while it is waited for. */
  readonly reporter: inspectionModule.Inspector | undefined;
}

type State = 'waiting' | 'starting' | 'running' | 'releasing';

/**
 * One command run while a lock is held.
 *
 * ```
 * waiting ──► starting ──► running ─────────────────────────────► releasing ──► done
 *    │            └─ a signal came, or the command cannot be started ─▲
 *    └─ a signal, not acquired, Redis unreachable ──────────────────────────────► done
 * ```
 *
 * - waiting: a signal ends the acquisition; nothing is started any more.
 * - running: signals are passed on to the group of the command. When the command has ended, what it left behind in its
 *   group is ended, too, while the lock is still held. When the lock is lost, or about to be, TERM is sent to the group,
 *   and KILL follows after the grace.
 * - With a terminal the command shares our process group, as below flock(1) and env(1): it can ask for a password,
 *   Ctrl-C and Ctrl-Z reach it and us alike, and what reached all of the group is not passed on again. A group of its
 *   own would be one in the background, which may not read the terminal, and Node cannot hand the terminal over.
 * - releasing: signals have no effect.
 *
 * Invariants: 1. nothing of the group runs when the lock is released; 2. the grace of a command whose lease is about to
 * end is cut to what is left of the lease; 3. a Redis that does not answer delays the end by no more than a few
 * seconds.
 */
class LockedRun {
  readonly #job: Job;
  readonly #interrupt = new AbortController();
  readonly #shared = hasTerminal();
  #state: State = 'waiting';
  #group: ChildGroup | undefined;
  #ear: GroupEar | undefined;
  #signal: NodeJS.Signals | undefined;
  #lostBecause: string | undefined;

  constructor(job: Job) {
    this.#job = job;
  }

  /**
   * Does it all.
   * @returns the exit code
   * @throws what kept the lock from being acquired, or the command from starting
   */
  async run(): Promise<number> {
    const stopReceiving = receiveSignals((signal) => this.#onSignal(signal), this.#shared);
    try {
      const hold = await this.#acquire();
      if (hold === undefined) return this.#notAcquired();
      return await this.#runHolding(hold);
    } finally {
      stopReceiving();
    }
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.#state === 'waiting' || this.#state === 'starting') {
      this.#signal ??= signal;
      this.#interrupt.abort();
    } else if (this.#state !== 'releasing') void this.#passOn(signal);
  }

  async #passOn(signal: NodeJS.Signals): Promise<void> {
    if (await this.#ear?.heard(signal)) return;
    this.#group?.signal(signal);
  }

  async #acquire(): Promise<LockHold | undefined> {
    const { lock, options, reporter } = this.#job;
    const ended = new AbortController();
    if (reporter !== undefined) void sayWhoHolds(reporter, lock.getName(), ended.signal);
    try {
      return await acquireForRun(lock, { ...options, wait: this.#wait }, this.#interrupt.signal);
    } catch (error) {
      if (this.#signal === undefined) throw error;
      return undefined;
    } finally {
      ended.abort();
    }
  }

  async #notAcquired(): Promise<number> {
    const { lock, options, reporter } = this.#job;
    if (this.#signal === undefined) {
      if (reporter !== undefined) await sayWhyNot(reporter, lock.getName(), this.#wait ?? 0);
      return options.conflictExitCode;
    }
    // What undoes an acquisition that was on its way is on the same connection before this question.
    await inTime(lock.isLocked(), CLEANUP_MS).catch(() => undefined);
    return signalExitCode(this.#signal);
  }

  async #runHolding(hold: LockHold): Promise<number> {
    const staysUntil = performance.now() + (this.#job.options.atLeast ?? 0);
    this.#state = 'starting';
    if (this.#signal !== undefined) {
      await this.#release(hold);
      return signalExitCode(this.#signal);
    }
    let code: number;
    try {
      code = await this.#runCommand(hold);
    } catch (error) {
      // Nothing has run: nothing to be kept from being run again.
      await this.#release(hold);
      throw error;
    }
    await this.#release(hold, staysUntil);
    if (this.#lostBecause === undefined) return code;
    say(`the lock '${hold.name}' was lost while the command ran: ${this.#lostBecause}`);
    return ExitCode.lockLost;
  }

  async #runCommand(hold: LockHold): Promise<number> {
    const { client, options } = this.#job;
    const [command = '', ...args] = this.#job.command;
    const { lease, grace } = options;
    const guard = new Guard(this.#cutGraceMs);
    if (this.#shared) this.#ear = new GroupEar();
    let stopWatch: (() => void) | undefined;
    try {
      const mark = randomUUID();
      guard.watchMark(mark);
      const environment = environmentInside(hold, client.getId());
      const group = new ChildGroup(command, args, { environment, shared: this.#shared, mark });
      this.#group = group;
      if (group.id !== undefined) guard.watch(this.#shared ? group.id : -group.id);
      this.#state = 'running';
      const losing = new Promise<void>((resolve) => {
        const lose = (why: string): void => {
          this.#lostBecause ??= why;
          resolve();
        };
        const { signal } = hold;
        signal.addEventListener('abort', () => lose(messageOf(signal.reason)), { once: true });
        if (signal.aborted) lose(messageOf(signal.reason));
        if (lease === undefined && grace > 0) {
          const short = (): void => lose('it could not be renewed and its lease was about to end');
          stopWatch = watchLease(hold, this.#cutGraceMs, short);
        }
      });
      await Promise.race([group.ended, losing]);
      // Also what the command has left behind.
      if (group.runs) {
        const left = hold.remainingLeaseMs;
        await group.terminate(this.#lostBecause !== undefined && left > 0 ? Math.min(grace, left) : grace);
      }
      return await group.ended;
    } finally {
      stopWatch?.();
      this.#ear?.close();
      await guard.dismiss();
    }
  }

  /** The grace as far as it surely fits into a lease that the watchdog has just not renewed. */
  get #cutGraceMs(): number {
    const { grace, lease } = this.#job.options;
    const { lockWatchdogTimeout } = this.#job.client.getConfig();
    return lease === undefined ? Math.min(grace, lockWatchdogTimeout / RENEWALS_PER_TIMEOUT) : grace;
  }

  /** How long to wait; `undefined` = without limit. */
  get #wait(): number | undefined {
    const { nonblock, wait } = this.#job.options;
    return nonblock === true ? 0 : wait;
  }

  /** Gives the lock back, or leaves it, if Redis answers in time. Whether it was lost is known afterwards. */
  async #release(hold: LockHold, staysUntil = 0): Promise<void> {
    this.#state = 'releasing';
    const left = Math.ceil(hold.remainingLeaseMs / 1_000);
    try {
      const released = await inTime(leave(hold, staysUntil), CLEANUP_MS);
      if (released === undefined) throw new Failure('Redis does not answer', ExitCode.unavailable);
    } catch (error) {
      if (error instanceof LockLostError) this.#lostBecause ??= messageOf(error);
      else say(`the lock '${hold.name}' could not be released, it runs out in about ${left} s: ${messageOf(error)}`);
    }
  }
}

/**
 * Tells once that a lease that should have been renewed is about to end: while there is still time to end the command
 * inside it. Renewals come at two thirds of the lease, so nothing is due while they work.
 *
 * @param marginMs - told when so much of the lease is left, in ms
 * @param onShort - called at most once, in a timer
 * @returns what ends the watch
 */
function watchLease(hold: LockHold, marginMs: number, onShort: () => void): () => void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const pause = Math.max(MIN_PAUSE_MS, hold.remainingLeaseMs - marginMs);
    timer = setTimeout(() => (hold.remainingLeaseMs > marginMs ? look() : onShort()), pause);
  };
  look();
  return () => clearTimeout(timer);
}
