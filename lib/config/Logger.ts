/** Writes a line: what belongs to it, and a message for a person. As pino's. */
export type LogLine = (fields: object, message: string) => void;

/** Where a client tells what happens to it: changes of its connection, refusals, lost locks, renewals that fail. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}
