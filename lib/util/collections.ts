/** Adds a thing to those of its key. */
export function addTo<K, T>(map: Map<K, T[]>, key: K, thing: T): void {
  const others = map.get(key);
  if (others === undefined) map.set(key, [thing]);
  else others.push(thing);
}

/** Things by their keys. */
export function groupBy<K, T>(things: Iterable<T>, keyOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) addTo(groups, keyOf(thing), thing);
  return groups;
}

/** A list in pieces of that size; the last one may be shorter. */
export function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Makes an entry the newest of a map of limited size: beyond that, the oldest is dropped. */
export function keepNewest<K, T>(map: Map<K, T>, key: K, thing: T, most: number): void {
  map.delete(key);
  map.set(key, thing);
  const [oldest] = map.keys();
  if (map.size > most) map.delete(oldest!);
}

/** The type of {@link given}: what may be `undefined` may be absent. */
type Given<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The fields of an object that are not `undefined`. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
