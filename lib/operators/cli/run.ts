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

/** Shortest pause between two checks of the lease, in ms. */
const MIN_PAUSE_MS = 5;
/** Renewals per watchdog time-out. While they succeed, at least two thirds of the lease remain. */
const RENEWALS_PER_TIMEOUT = 3;

/** The options of `run`, as commander reads them. Times in ms. */
export interface RunOptions extends ClientOptions, Wish {
  readonly nonblock?: true;
  readonly verbose?: true;
  readonly type: ObjectKind;
  readonly conflictExitCode: number;
  /** Minimum time that the lock stays held, counted from its acquisition. */
  readonly atLeast?: number;
  /** Time between TERM and KILL. */
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
    const lock = lockOf!(client, name);
    const wait = options.nonblock === true ? 0 : options.wait;
    const reporter = options.verbose === true ? inspector : undefined;
    return await new LockedRun({ client, lock, command, options: { ...options, wait }, reporter }).run();
  } finally {
    await Promise.all([inTime(client.shutdown(), CLEANUP_MS), inspector && inTime(inspector.close(), CLEANUP_MS)]);
  }
}

/** Loads the inspection code only on demand, so that `run` starts fast. */
function inspectorOf(config: Parameters<typeof Redisson.create>[0]): inspectionModule.Inspector {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { Inspector } = require('../inspection') as typeof inspectionModule;
  return Inspector.open(config);
}

/** The task of a {@link LockedRun}. */
interface Job {
  readonly client: Redisson;
  readonly lock: RLock;
  readonly command: readonly string[];
  readonly options: RunOptions;
  /** Finds the current holders, to report them during the wait; `undefined`: no reports. */
  readonly reporter: inspectionModule.Inspector | undefined;
}

type State = 'waiting' | 'starting' | 'running' | 'releasing';

/**
 * Runs one command while a lock is held.
 *
 * ```
 * waiting ──► starting ──► running ─────────────────────────────► releasing ──► done
 *    │            └─ a signal came, or the command cannot be started ─▲
 *    └─ a signal, not acquired, Redis unreachable ──────────────────────────────► done
 * ```
 *
 * - waiting: a signal cancels the acquisition, and no command starts.
 * - running: we forward signals to the command's group. When the command ends, we end the rest of its group while the
 *   lock is still held. When the lock is lost, or about to be, the group gets TERM, and KILL after the grace.
 * - With a terminal the command shares our process group, as with flock(1) and env(1): it can ask for a password,
 *   Ctrl-C and Ctrl-Z reach it and us alike, and we do not forward a signal that reached the whole group. In a group
 *   of its own it would run in the background, where it may not read the terminal, and Node cannot hand the terminal
 *   over.
 * - releasing: signals have no effect.
 *
 * Invariants: 1. no process of the group runs when the lock is released; 2. when the lease is about to end, the grace
 * is cut to the rest of the lease; 3. a Redis that does not answer delays the exit by a few seconds at most.
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
   * Acquires the lock, runs the command, releases the lock.
   * @returns the exit code
   * @throws the error that prevented the acquisition or the start of the command
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
      return await acquireForRun(lock, options, this.#interrupt.signal);
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
      if (reporter !== undefined) await sayWhyNot(reporter, lock.getName(), options.wait ?? 0);
      return options.conflictExitCode;
    }
    // The undo of a cancelled acquisition went out earlier on the same connection. So once this call is answered, the
    // undo is done.
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
      // No command has run, so there is no second run for --at-least to prevent: release at once.
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
    // Cut so that it fits into a lease that the watchdog failed to renew.
    const { lockWatchdogTimeout } = client.getConfig();
    const cutGraceMs = lease === undefined ? Math.min(grace, lockWatchdogTimeout / RENEWALS_PER_TIMEOUT) : grace;
    const mark = randomUUID();
    const guard = new Guard(cutGraceMs, mark);
    if (this.#shared) this.#ear = new GroupEar();
    let stopWatch: (() => void) | undefined;
    try {
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
          stopWatch = watchLease(hold, cutGraceMs, short);
        }
      });
      await Promise.race([group.ended, losing]);
      // End the processes that the command left behind, too.
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

  /**
   * Releases the lock, or leaves it held for --at-least, if Redis answers in time. Also finds out whether it was lost.
   */
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
 * Reports once that a lease is about to end although the watchdog should have renewed it. There is still time then to
 * end the command within the lease. Renewals come at two thirds of the lease, so nothing is reported while they work.
 *
 * @param marginMs - report when this much of the lease is left, in ms
 * @param onShort - called at most once, in a timer
 * @returns a function that stops the watch
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
