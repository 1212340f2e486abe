/** The signals that ask a command to end, or tell it something. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/**
 * Without a terminal nobody could continue us, and the command, a session of its own, would run on without renewals.
 */
const IGNORED = ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const;

/**
 * Receives the signals sent to this process, instead of dying of them.
 *
 * @param listener - called for each signal that is to be passed on
 * @param mayStop - whether the signals of job control, such as Ctrl-Z's, stop us as they stop any command
 * @returns what ends it. Until then these signals have no other effect
 */
export function receiveSignals(listener: (signal: NodeJS.Signals) => void, mayStop = false): () => void {
  const ignore = (): void => undefined;
  for (const signal of PASSED_ON) process.on(signal, listener);
  if (!mayStop) for (const signal of IGNORED) process.on(signal, ignore);
  return () => {
    for (const signal of PASSED_ON) process.off(signal, listener);
    for (const signal of IGNORED) process.off(signal, ignore);
  };
}
