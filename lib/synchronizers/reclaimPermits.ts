import { setTimeout as pause } from 'node:timers/promises';
import { newFarewellToken, type CallToken } from '../connection/CommandExecutor';
import { CommandError, ShutdownError } from '../errors';
import { releasePermits } from '../scripts/permitExpirableSemaphore';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { NO_LEASE } from '../util/duration';
import type { PermitKeys } from './objectKeys';
import type { RedisObject } from './RedisObject';

/** First pause between two tries, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 2_000;

/**
 * Releases, in the background, permits that an acquisition may have taken, or may still take, and that nobody wants. The
 * first try is written at once, behind that acquisition on its connection. If that connection broke, what was in its
 * socket may still run later, so the release is repeated until it finds the permits, or until their lease, or without one
 * the watchdog's time-out, has passed.
 *
 * @param ghost - of the acquisition
 * @param leaseMs - of the permits, in ms, or {@link NO_LEASE}
 */
export async function reclaimPermits(
  object: RedisObject<PermitKeys>,
  ids: readonly Buffer[],
  ghost: CallToken,
  leaseMs: number,
): Promise<void> {
  const livesMs = leaseMs === NO_LEASE ? object.context.settings.lockWatchdogTimeout : leaseMs;
  const endsAt = performance.now() + livesMs;
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    const token = newFarewellToken();
    try {
      // A repeat that finds nothing shall say so: it proves less than a first send on the ghost's own connection.
      const args = { now: Date.now(), publish: PUBLISH_COMMAND, repeated: '0' } as const;
      const released = await object.run(releasePermits, args, 'give back permits of', { moreArgs: ids, token });
      if (released > 0 || (!ghost.scattered && token.epoch === ghost.epoch)) return;
    } catch (error) {
      // Refused for good, or nobody is left to do it.
      if (error instanceof CommandError || error instanceof ShutdownError) return;
    }
    if (performance.now() >= endsAt) return;
    await pause(ms, undefined, { ref: false });
  }
}
