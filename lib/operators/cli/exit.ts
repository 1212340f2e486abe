import { constants } from 'node:os';
import {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  NoSyncedReplicasError,
  SubscriptionTimeoutError,
} from '../../index';

/** Exit codes of the command. Those from 64 to 75 are numbered as in BSD's sysexits.h. */
export const ExitCode = {
  ok: 0,
  /**
   * `unlock`: there was no such lock. `doctor`: warnings. `run`: not acquired, unless `--conflict-exit-code` sets
   * another code.
   */
  no: 1,
  /** `doctor`: something breaks locks. */
  errors: 2,
  /** Wrong usage or configuration. */
  usage: 64,
  /** The name belongs to data of another type, or the user may not use it. */
  data: 65,
  /** Redis is unreachable, does not answer, refuses writes, or refuses the connection. */
  unavailable: 69,
  /** A bug in this package. */
  internal: 70,
  /** Our output cannot be written, e.g. on a full disk. */
  output: 74,
  /** The lock was lost while the command ran. */
  lockLost: 75,
  /** As in a shell: the command cannot be executed. */
  notExecutable: 126,
  /** As in a shell: there is no such command. */
  notFound: 127,
  /** As in a shell: added to the number of the signal. */
  signalled: 128,
  /** As in a shell for a command that SIGPIPE ended: the reader of our output is gone. */
  readerGone: 141,
} as const;

/** The exit code of a process that a signal ended. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return ExitCode.signalled + constants.signals[signal];
}

/** An error with a text for the user and an exit code. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

/** Error replies of a server that cannot serve now, whatever the name of the lock. */
const REFUSES_WRITES = new Set([
  ...['NOREPLICAS', 'READONLY', 'MISCONF', 'OOM', 'LOADING', 'BUSY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN'],
]);

/** The exit code for an error that ended the command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  if (error instanceof ConfigError) return ExitCode.usage;
  if (error instanceof CommandError) return REFUSES_WRITES.has(error.reply) ? ExitCode.unavailable : ExitCode.data;
  const unavailable = [ConnectionError, CommandTimeoutError, SubscriptionTimeoutError, NoSyncedReplicasError];
  return unavailable.some((kind) => error instanceof kind) ? ExitCode.unavailable : ExitCode.internal;
}

/** The text to print for an error. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  // The reply of Redis explains what is wrong with the name.
  if (error instanceof CommandError && cause instanceof Error && !error.message.includes(cause.message)) {
    return `${error.message} (${cause.message})`;
  }
  return error.message;
}

/** Signals that ask a command to end, or notify it. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/**
 * Job-control signals. Without a terminal, no shell would continue us after a stop, and the command, in its own
 * session, would run on without renewals.
 */
const IGNORED = ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const;

/**
 * Runs `act` until it ends or a signal ends it.
 * @param act - must end when `end` is aborted, and may abort it itself
 * @returns the exit code: that of the signal, but 0 for Ctrl-C, the usual way to quit
 */
export async function untilSignal(act: (end: AbortController) => Promise<unknown>): Promise<number> {
  const end = new AbortController();
  let exitCode: number = ExitCode.ok;
  const stopReceiving = receiveSignals((signal) => {
    if (signal !== 'SIGINT') exitCode = signalExitCode(signal);
    end.abort();
  });
  try {
    await act(end);
  } finally {
    stopReceiving();
  }
  return exitCode;
}

/**
 * Handles the signals sent to this process, instead of dying of them.
 *
 * @param listener - called for each signal that asks us to end or notifies us
 * @param mayStop - whether job-control signals, such as that of Ctrl-Z, stop us as they stop any command
 * @returns a function that ends the handling. Until then these signals have no other effect
 */
export function receiveSignals(listener: (signal: NodeJS.Signals) => void, mayStop = false): () => void {
  const ignore = (): void => undefined;
  for (const signal of PASSED_ON) process.on(signal, listener);
  if (!mayStop) for (const signal of IGNORED) process.on(signal, ignore);
  return () => {
    for (const signal of PASSED_ON) process.off(signal, listener);
    for (const signal of IGNORED) process.off(signal, ignore);
  };
}
