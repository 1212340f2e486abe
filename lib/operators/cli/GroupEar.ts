import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { inTime } from '../doctor';
import { isPending } from './processes';

/** How long the end of the listener may take to be known, in ms. */
const NOTICE_MS = 200;
/** How long it is remembered, in ms: our own signal may come later. */
const MEMORY_MS = 2 * NOTICE_MS;

/**
 * Tells whether a signal that we have received went to all of our process group, as Ctrl-C does, or to us alone, as
 * with kill(1): what the terminal sends reaches the command without us, and must not reach it twice. A second Ctrl-C
 * makes many programs give up what they are cleaning up.
 *
 * Nothing in Node says where a signal comes from. So a small process of our group lets itself be ended by any: when it
 * has ended, all of the group were meant. It ends with us, too, as its stdin does.
 */
export class GroupEar {
  #listener!: ChildProcess;
  #ended!: Promise<NodeJS.Signals | null>;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#start();
  }

  /** Whether a signal that has just come went to all of the group. */
  async heard(signal: NodeJS.Signals): Promise<boolean> {
    const { pid } = this.#listener;
    const end = await inTime(this.#ended, NOTICE_MS);
    if (end !== undefined) return end.value === signal;
    return pid !== undefined && isPending(pid, constants.signals[signal]);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#listener.removeAllListeners('exit').kill('SIGKILL');
  }

  #start(): void {
    const listener = spawn('/bin/sh', ['-c', 'ulimit -c 0; exec cat'], {
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    listener.stdin?.on('error', () => undefined);
    this.#listener = listener;
    this.#ended = new Promise((resolve) => {
      listener.once('error', () => resolve(null));
      listener.once('exit', (_code, signal) => {
        resolve(signal);
        // One that ends of itself would do so again.
        if (signal !== null) this.#timer = setTimeout(() => this.#start(), MEMORY_MS);
      });
    });
  }
}
