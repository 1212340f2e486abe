import { newCallToken, newFarewellToken, type CallToken, type CommandExecutor } from '../connection/CommandExecutor';
import { checkFairTurn } from '../scripts/fairLock';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { fairChannelKeys, type TurnCheck } from './drivers/fair';
import { UNLOCK_MESSAGE } from './drivers/reentrant';

/** How long the head of a queue has to take the lock it was told of before somebody looks, in ms. */
const FIRST_LOOK_MS = 300;
/** What a head was told long ago enough to have its followers called at once, in ms. */
const LONG_AGO_MS = 500;
/** A look that comes a little late finds the claims ended that it was sent for. */
const MARGIN_MS = 50;

/**
 * The client that gives a fair lock back looks a moment later whether the head of the queue has come: a dead or frozen
 * one cannot say that it does not, and those behind it sleep. One look serves all releases of a lock within that moment.
 *
 * States: open -> closed.
 */
export class FairTurns implements TurnCheck {
  readonly #executor: CommandExecutor;
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly first: boolean }>();
  #closed = false;

  constructor(executor: CommandExecutor) {
    this.#executor = executor;
  }

  /** The head of this queue has just been told that the lock is free. */
  told(rawName: string): void {
    const pending = this.#timers.get(rawName);
    if (pending?.first === true || this.#closed) return;
    if (pending !== undefined) clearTimeout(pending.timer);
    this.#arm(rawName, FIRST_LOOK_MS, FIRST_LOOK_MS);
  }

  /** Looks that are due later are made now: in the turn in which the client closes. */
  close(): void {
    this.#closed = true;
    for (const [rawName, { timer }] of this.#timers) {
      clearTimeout(timer);
      this.#look(rawName, LONG_AGO_MS, newFarewellToken()).catch(() => undefined);
    }
    this.#timers.clear();
  }

  #arm(rawName: string, ms: number, toldMs: number): void {
    const timer = setTimeout(() => void this.#ask(rawName, toldMs), ms);
    timer.unref();
    this.#timers.set(rawName, { timer, first: toldMs > 0 });
  }

  async #ask(rawName: string, toldMs: number): Promise<void> {
    this.#timers.delete(rawName);
    // An error is the connection's, and whoever waits there looks again when it is back.
    const againMs = await this.#look(rawName, toldMs, newCallToken()).catch(() => 0);
    if (againMs > 0 && !this.#closed && !this.#timers.has(rawName)) this.#arm(rawName, againMs + MARGIN_MS, 0);
  }

  /** @returns when to look again, in ms; 0: never */
  #look(rawName: string, told: number, token: CallToken): Promise<number> {
    return this.#executor.run(
      checkFairTurn,
      fairChannelKeys(rawName),
      { message: UNLOCK_MESSAGE, now: Date.now(), told, publish: PUBLISH_COMMAND },
      { what: 'look whether the queue of a fair lock goes on', token },
    );
  }
}
