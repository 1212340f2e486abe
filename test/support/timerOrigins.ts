/** A timer that was set, and the stack of whoever set it. */
interface Origin {
  readonly timer: WeakRef<NodeJS.Timeout>;
  readonly at: Error;
}

let origins: Origin[] = [];

/** From now on it is noted who sets timers. Fake clocks take the place of ours, and give it back. */
export function noteTimers(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const original = globalThis[name] as (...args: unknown[]) => NodeJS.Timeout;
    const noting = (...args: unknown[]): NodeJS.Timeout => {
      const timer = original(...args);
      origins.push({ timer: new WeakRef(timer), at: new Error() });
      return timer;
    };
    // `promisify` finds its own version there.
    Object.defineProperties(noting, Object.getOwnPropertyDescriptors(original));
    Object.assign(globalThis, { [name]: noting });
  }
}

/** Forgets those that were set before. */
export function forgetTimers(): void {
  origins = [];
}

/** Who has set those that still stand and keep the process alive: the lines of their stacks, but for ours. */
export function standingTimers(): string[] {
  return origins.flatMap(({ timer, at }) => {
    const standing = timer.deref() as (NodeJS.Timeout & { readonly _destroyed: boolean }) | undefined;
    if (standing === undefined || standing._destroyed || !standing.hasRef()) return [];
    return [at.stack!.split('\n').slice(2).join('\n')];
  });
}
