import * as fs from 'node:fs';
import type { LockHold } from '../../lib';
import { isExpected } from '../faults/expected';
import { type Completion, type Event, historyNow, type Invocation, type Look } from './history';

type Details<T> = Omit<T, 'at' | 'p' | 'op' | 'type'>;

/**
 * Writes down what a process calls and learns, each line at once: a process that is killed has written all that it did
 * before. When a call begins is taken before it is made, when it ends after: what the checker relies on is certain.
 */
export class Recorder {
  readonly #file: number;
  readonly #process: number;
  #ops = 0;
  #done = 0;
  #faults = 0;

  constructor(file: string, process: number) {
    this.#file = fs.openSync(file, 'a');
    this.#process = process;
  }

  /** How many calls have ended. */
  get done(): number {
    return this.#done;
  }

  /** How many calls have rejected because of a fault. */
  get faults(): number {
    return this.#faults;
  }

  /** @returns the number of the call that begins now */
  invoke(details: Details<Invocation>): number {
    const op = ++this.#ops;
    this.#write({ type: 'invoke', at: historyNow(), p: this.#process, op, ...details });
    return op;
  }

  end(op: number, type: Completion['type'], result: Details<Completion> = {}): void {
    this.#done++;
    if (type === 'info') this.#faults++;
    this.#write({ type, at: historyNow(), p: this.#process, op, ...result });
  }

  /** A call rejected. */
  failed(op: number, error: unknown): void {
    const { code = '' } = error as { code?: string };
    if (code === 'LOCK_LOST') this.end(op, 'fail', { why: 'lost' });
    else if (code === 'ILLEGAL_MONITOR_STATE') this.end(op, 'fail', { why: 'notOwner' });
    else if (isExpected(error)) this.end(op, 'info', { why: code });
    else this.end(op, 'info', { why: error instanceof Error ? (error.stack ?? '') : String(error), unexpected: true });
  }

  /** A hold is there. Whether it still is, is asked after the time was taken: it was there then. */
  got(op: number, hold: LockHold): void {
    const at = historyNow();
    const until = at + Math.floor(hold.remainingLeaseMs * 1_000);
    const token = hold.token === undefined ? {} : { token: String(hold.token) };
    this.#done++;
    this.#write({ type: 'ok', at, p: this.#process, op, ...(hold.isHeld ? { until } : {}), ...token });
  }

  /** @param op - the call that took it @returns whether it is still held */
  look(op: number, hold: LockHold): boolean {
    const at = historyNow();
    const until = at + Math.floor(hold.remainingLeaseMs * 1_000);
    const held = hold.isHeld;
    const look: Look = held
      ? { type: 'held', at, p: this.#process, op, until }
      : { type: 'lost', at: historyNow(), p: this.#process, op };
    this.#write(look);
    return held;
  }

  note(type: 'killed' | 'ended' | 'fault' | 'wrong', what?: string, process = this.#process): void {
    this.#write({ type, at: historyNow(), p: process, ...(what === undefined ? {} : { what }) });
  }

  close(): void {
    fs.closeSync(this.#file);
  }

  #write(event: Event): void {
    fs.writeSync(this.#file, `${JSON.stringify(event)}\n`);
  }
}
