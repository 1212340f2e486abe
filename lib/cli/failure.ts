import {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  NoSyncedReplicasError,
  SubscriptionTimeoutError,
} from '../index';
import { ExitCode } from './exitCodes';

/** An error whose text is for the user, with the exit code it leads to. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

/** The exit code for an error that ended the command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  if (error instanceof ConfigError) return ExitCode.usage;
  if (error instanceof CommandError) return ExitCode.data;
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
