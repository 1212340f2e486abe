import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { inTime } from '../doctor';
import { isPending } from './processes';

/** How long to wait for the listener to exit, in ms. */
const NOTICE_MS = 200;
/** How long its exit counts, in ms: our own copy of the signal may arrive later. A new listener starts after that. */
const MEMORY_MS = 2 * NOTICE_MS;

/**
 * Finds out whether a signal went to our whole process group, as Ctrl-C does, or to us alone, as with kill(1). A
 * signal from the terminal reaches the command without us and must not reach it twice: on a second Ctrl-C many
 * programs abort their cleanup.
 *
 * Node does not report the sender of a signal. So a small listener process in our group lets any signal kill it. If it
 * has died, the signal went to the whole group. It also exits when we do, because its stdin closes.
 */
export class GroupEar {
  #listener!: ChildProcess;
  #ended!: Promise<NodeJS.Signals | null>;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#start();
  }

  /** Whether the signal that just arrived went to the whole group. */
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
        // No restart after an exit without a signal: the new listener would exit, too.
        if (signal !== null) this.#timer = setTimeout(() => this.#start(), MEMORY_MS);
      });
    });
  }
}
