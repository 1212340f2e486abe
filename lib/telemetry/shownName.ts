/**
 * Applies `nameOf` to a name. The user supplies `nameOf`: an error in it must not reach the caller who takes the lock.
 * @param otherwise - the result without `nameOf`
 */
export function shownName(
  nameOf: ((name: string) => string | undefined) | undefined,
  name: string,
  otherwise?: string,
): string | undefined {
  if (nameOf === undefined) return otherwise;
  try {
    return nameOf(name);
  } catch {
    return undefined;
  }
}
