/** Whether two types are the same, not merely assignable to each other. */
export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only where the value has exactly that type: `exactly<boolean>()(await lock.tryLock())`. */
export function exactly<Wanted>(): <Given>(
  value: Given,
  ...same: Same<Given, Wanted> extends true ? [] : [never]
) => void {
  return () => undefined;
}
