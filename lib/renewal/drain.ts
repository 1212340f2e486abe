import type { HoldTable } from './HoldTable';

/** How soon it is looked again whether the last commands are answered, in ms. */
const LOOK_MS = 10;

/**
 * Resolves as soon as nothing is held, being taken or being given back any more and every command is answered.
 *
 * @param executor - whether it has commands under way
 * @param limitMs - at the latest after so many ms
 * @param hurry - aborts: at once
 */
export function drain(
  holds: HoldTable,
  executor: { readonly busy: boolean },
  limitMs: number,
  hurry: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    let immediate: NodeJS.Immediate | undefined;
    let look: NodeJS.Timeout | undefined;
    const end = (): void => {
      holds.onGivenBack = undefined;
      clearTimeout(limit);
      clearTimeout(look);
      clearImmediate(immediate);
      hurry.removeEventListener('abort', end);
      resolve();
    };
    const check = (): void => {
      immediate = undefined;
      if (holds.busy) return;
      if (executor.busy) look = setTimeout(check, LOOK_MS);
      else end();
    };
    const limit = setTimeout(end, limitMs);
    hurry.addEventListener('abort', end);
    // Not each time: thousands may be given back in one turn.
    holds.onGivenBack = () => (immediate ??= setImmediate(check));
    holds.onGivenBack();
  });
}
