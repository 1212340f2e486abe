import { inTime } from '../doctor';
import { Inspector } from '../inspection';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { CLEANUP_MS, print } from './output';

/** Options of the commands that look at what is there. */
export interface ReportOptions extends ClientOptions {
  readonly json?: true;
}

/** Connects, does something, and disconnects, whatever becomes of it. */
export async function inspecting<T>(options: ClientOptions, act: (inspector: Inspector) => Promise<T>): Promise<T> {
  const inspector = Inspector.open(await readClientOptions(options));
  try {
    return await act(inspector);
  } finally {
    await inTime(inspector.close(), CLEANUP_MS);
  }
}

/** Prints something as JSON. Resolves when all of it is written. */
export function printJson(value: unknown): Promise<void> {
  return print(`${JSON.stringify(value, null, 2)}\n`);
}
