import { AXES, onEachAxis, VALUES, type Axis } from './axes';

/**
 * The values that `--only` leaves of each axis: those of an axis that it does not name are all left.
 *
 * @param only - beginnings of values, with commas between them
 * @param refuse - is told what is wrong with them
 */
export function chosen(only: string | undefined, refuse: (message: string) => never): Record<Axis, readonly string[]> {
  const beginnings = only?.split(',').map((one) => one.trim()) ?? [];
  const ids = AXES.flatMap((axis) => VALUES[axis]);
  for (const one of beginnings) {
    // Every value begins with nothing.
    if (one === '' || !ids.some((id) => id.startsWith(one))) refuse(`unknown: "${one}"; known: ${ids.join(', ')}`);
  }
  return onEachAxis((axis) => {
    const named = VALUES[axis].filter((id) => beginnings.some((one) => id.startsWith(one)));
    return named.length > 0 ? named : VALUES[axis];
  });
}
