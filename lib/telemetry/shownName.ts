import { callUserCode } from '../util/userCode';

/**
 * Applies `nameOf` of the user to a name.
 * @param otherwise - the result without `nameOf`
 */
export function shownName(
  nameOf: ((name: string) => string | undefined) | undefined,
  name: string,
  otherwise?: string,
): string | undefined {
  if (nameOf === undefined) return otherwise;
  return callUserCode('nameOf', () => nameOf(name), { of: nameOf });
}
