/** Warns by the client's logger where it has one, else as a warning of the process. A logger that throws is ignored. */
export function warn(
  logger: { warn(fields: object, message: string): void } | undefined,
  code: string,
  fields: object,
  message: string,
): void {
  if (logger === undefined) process.emitWarning(message, { code });
  else logSafely(logger, 'warn', fields, message);
}

type Log = (fields: object, message: string) => void;

/** Logs, if there is a logger. A failing logger must not stop a lock: its errors are dropped. */
export function logSafely<Level extends string>(
  logger: Readonly<Record<Level, Log>> | undefined,
  level: NoInfer<Level>,
  fields: object,
  message: string,
): void {
  try {
    logger?.[level](fields, message);
  } catch {
    // See above.
  }
}
