/**
 * What `nameOf` makes of a name. It is the user's: what it throws must not reach the one who takes the lock.
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
