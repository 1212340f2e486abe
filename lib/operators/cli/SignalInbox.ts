/** The signals that ask a command to end, or tell it something. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/**
 * Without a terminal nobody could continue us, and the command, a session of its own, would run on without renewals.
 */
const IGNORED = ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const;

/**
 * Receives the signals sent to this process, instead of dying of them. Until it is closed, these have no other effect.
 */
export class SignalInbox {
  readonly #listener: (signal: NodeJS.Signals) => void;
  readonly #ignore = (): void => undefined;

  /**
   * @param listener - called for each signal that is to be passed on
   * @param mayStop - whether the signals of job control, such as Ctrl-Z's, stop us as they stop any command
   */
  constructor(listener: (signal: NodeJS.Signals) => void, mayStop = false) {
    this.#listener = listener;
    for (const signal of PASSED_ON) process.on(signal, this.#listener);
    if (!mayStop) for (const signal of IGNORED) process.on(signal, this.#ignore);
  }

  close(): void {
    for (const signal of PASSED_ON) process.off(signal, this.#listener);
    for (const signal of IGNORED) process.off(signal, this.#ignore);
  }
}
