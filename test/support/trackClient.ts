import { laterForReal } from '../../tools/realTimers';

/** Something a test opened and that has to be closed: a Redisson, an ioredis client, a server, a proxy, a monitor. */
export interface Closable {
  shutdown?(): unknown;
  stop?(): unknown;
  close?(): unknown;
  disconnect?(): unknown;
  /** ioredis' own. */
  readonly status?: string;
}

const CLOSE_TIMEOUT_MS = 5000;

let inTest = false;
let ofTest: Closable[] = [];
let ofSuites: Closable[] = [];
/** The file of the last test, and how many of `ofSuites` were there when it ended: those of its `before` hooks. */
let file: string | undefined;
let ofFile = 0;

/**
 * Has `client` closed after the test that runs (or before the first test of the next file, when called in a `before`),
 * last opened first.
 * Closing what is closed already must be harmless, as it is for everything listed above. Returns the client.
 */
export function trackClient<T extends Closable>(client: T): T {
  (inTest ? ofTest : ofSuites).push(client);
  return client;
}

/** Whether a client opened in a `before` may still be open. */
export function hasSuiteClients(): boolean {
  return ofSuites.length > 0;
}

/**
 * A test begins: closes the clients of the `before` hooks of earlier files. One whose server has ended would connect
 * again and again, and its timers would be counted as leaks of others. Resolves to what went wrong. Used by `leaks.ts`.
 */
export async function enterFile(next: string | undefined): Promise<string[]> {
  if (next === file) return [];
  file = next;
  return closeAll(ofSuites.splice(0, ofFile));
}

/** From now on clients belong to the test. Used by `leaks.ts`. */
export function openTestScope(): void {
  inTest = true;
}

/** Closes the clients of the test and resolves to what went wrong. Used by `leaks.ts`. */
export async function closeTestScope(): Promise<string[]> {
  inTest = false;
  const clients = ofTest;
  ofTest = [];
  ofFile = ofSuites.length;
  return closeAll(clients);
}

/** A run of mocha ends, and the process may begin another: closes the clients of `before` hooks. Used by `leaks.ts`. */
export async function closeSuiteScope(): Promise<string[]> {
  const clients = ofSuites;
  ofSuites = [];
  file = undefined;
  ofFile = 0;
  return closeAll(clients);
}

async function closeAll(clients: Closable[]): Promise<string[]> {
  const problems: string[] = [];
  for (const client of clients.reverse()) {
    try {
      await withinTime(closeOne(client));
    } catch (error) {
      problems.push(`closing a ${client.constructor.name}: ${String(error)}`);
    }
  }
  return problems;
}

async function closeOne(client: Closable): Promise<void> {
  // An ioredis client comes first: its `shutdown()` is the command that ends the server. Disconnecting one that has
  // ended leaves a timer behind for two seconds.
  if (client.disconnect && client.status !== 'end') client.disconnect();
  else if (client.disconnect) return;
  else if (client.shutdown) await client.shutdown();
  else if (client.stop) await client.stop();
  else await client.close?.();
}

function withinTime(closing: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = laterForReal(() => reject(new Error(`not closed within ${CLOSE_TIMEOUT_MS} ms`)), CLOSE_TIMEOUT_MS);
    closing.then(resolve, reject).finally(cancel);
  });
}
