import type { CommonSettings } from './Settings';

/** Beyond the command time-out, per retry attempt, in ms. */
const WAIT_PER_RETRY_MS = 1_000;

/** How long a call without limit waits for a server that can serve it, in ms: to be connected, or to refuse no longer. */
export function longestWaitMs({ timeout, retryAttempts }: Pick<CommonSettings, 'timeout' | 'retryAttempts'>): number {
  return timeout + retryAttempts * WAIT_PER_RETRY_MS;
}
