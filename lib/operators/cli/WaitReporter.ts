import type { Inspector, ObjectReport } from '../inspection';
import { messageOf } from './exit';
import { say } from './output';
import { processText } from './tables';
import { readableTime } from '../doctor';

/** A lock that is free is acquired before this, in ms: then nothing is said. */
const FIRST_LOOK_MS = 200;
/** Between two looks at who holds it, in ms. */
const LOOK_MS = 1_000;

/**
 * Says on stderr who holds the lock that is waited for, each time that changes, and why it was not acquired.
 *
 * States: idle -> watching -> stopped.
 */
export class WaitReporter {
  readonly #inspector: Inspector;
  readonly #name: string;
  #timer: NodeJS.Timeout | undefined;
  #watching = false;
  #said = '';

  /** @param inspector - closed by the caller @param name - of the lock */
  constructor(inspector: Inspector, name: string) {
    this.#inspector = inspector;
    this.#name = name;
  }

  start(): void {
    this.#watching = true;
    this.#lookAfter(FIRST_LOOK_MS);
  }

  stop(): void {
    this.#watching = false;
    clearTimeout(this.#timer);
  }

  /** Says why. @param waitMs - how long it was waited for, in ms; 0: not at all */
  async notAcquired(waitMs: number): Promise<void> {
    const how = waitMs === 0 ? '' : ` within ${readableTime(waitMs)}`;
    say(`'${this.#name}' was not acquired${how}: ${await this.#who()}`);
  }

  #lookAfter(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms);
  }

  async #look(): Promise<void> {
    const who = await this.#who();
    if (!this.#watching) return;
    if (who !== this.#said) say(`waiting for '${this.#name}': ${who}`);
    this.#said = who;
    this.#lookAfter(LOOK_MS);
  }

  async #who(): Promise<string> {
    try {
      return holdersText(await this.#inspector.inspect(this.#name));
    } catch (error) {
      return `who holds it cannot be told: ${messageOf(error)}`;
    }
  }
}

function holdersText({ holders, mode }: ObjectReport): string {
  if (holders.length === 0) return 'nobody holds it now';
  const [first] = holders;
  const more = holders.length === 1 ? '' : `, and ${holders.length - 1} more`;
  const as = mode === undefined ? '' : ` as a ${mode === 'read' ? 'reader' : 'writer'}`;
  if (first!.process.unknownBecause === 'detached')
    return `held by no process: run --at-least keeps it, or a ticket (${first!.owner})`;
  const gone = first!.process.connected === false && first!.process.host === undefined;
  const who = gone ? 'a process that has gone' : processText(first!);
  return `held by ${who} (${first!.owner})${as}${more}`;
}
