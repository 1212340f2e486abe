import { constants } from 'node:os';
import {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  NoSyncedReplicasError,
  SubscriptionTimeoutError,
} from '../../index';

/** What the exit codes of the command mean; those from 64 on are numbered as in BSD's sysexits.h. */
export const ExitCode = {
  ok: 0,
  /** `unlock`: there was no such lock. `doctor`: warnings. `run`: not acquired, unless `--conflict-exit-code` says otherwise. */
  no: 1,
  /** `doctor`: something breaks locks. */
  errors: 2,
  /** Wrong usage or configuration. */
  usage: 64,
  /** The name belongs to data of another type, or the user may not use it. */
  data: 65,
  /** Redis is unreachable, does not answer, refuses to write, or refuses the connection. */
  unavailable: 69,
  /** A defect of ours. */
  internal: 70,
  /** Our output cannot be written: a full disk. */
  output: 74,
  /** The lock was lost while the command ran. */
  lockLost: 75,
  /** As in a shell: the command cannot be executed. */
  notExecutable: 126,
  /** As in a shell: there is no such command. */
  notFound: 127,
  /** As in a shell: plus the number of the signal. */
  signalled: 128,
  /** As in a shell for a command that SIGPIPE ended: whoever read our output has gone. */
  readerGone: 141,
} as const;

/** The exit code of what a signal has ended. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return ExitCode.signalled + constants.signals[signal];
}

/** An error whose text is for the user, with the exit code it leads to. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

/** Replies of a server that cannot serve now, whatever the name. */
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

/** What to say of an error. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  // Redis' own words say what is wrong with the name.
  if (error instanceof CommandError && cause instanceof Error && !error.message.includes(cause.message)) {
    return `${error.message} (${cause.message})`;
  }
  return error.message;
}

/** The signals that ask a command to end, or tell it something. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/**
 * Without a terminal nobody could continue us, and the command, a session of its own, would run on without renewals.
 */
const IGNORED = ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const;

/**
 * Does something until a signal ends it.
 * @param act - ends when `end` is aborted, and may abort it itself
 * @returns the exit code: that of the signal, but 0 for Ctrl-C, which is how one leaves it
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
 * Receives the signals sent to this process, instead of dying of them.
 *
 * @param listener - called for each signal that is to be passed on
 * @param mayStop - whether the signals of job control, such as Ctrl-Z's, stop us as they stop any command
 * @returns what ends it. Until then these signals have no other effect
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
