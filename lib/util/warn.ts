import { callUserCode } from './userCode';

/** Warns by the client's logger where it has one, else as a warning of the process. */
export function warn(
  logger: { warn(fields: object, message: string): void } | undefined,
  code: string,
  fields: object,
  message: string,
): void {
  if (logger === undefined) process.emitWarning(message, { code });
  else logSafely(logger, 'warn', fields, message);
}

type Log = (fields: object, message: string) => unknown;

/** Logs, if there is a logger. That it fails is reported once. */
export function logSafely<Level extends string>(
  logger: Readonly<Record<Level, Log>> | undefined,
  level: NoInfer<Level>,
  fields: object,
  message: string,
): void {
  if (logger !== undefined) callUserCode('The logger', () => logger[level](fields, message), { of: logger });
}
