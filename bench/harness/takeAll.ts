import { type LockHandle, type LockSession } from './contestant';

const atOnce = 100;

/** Takes the lock of every name, a hundred at once; resolves to the handles that hold them. */
export async function takeAll(session: LockSession, names: readonly string[]): Promise<LockHandle[]> {
  const handles = new Array<LockHandle>(names.length);
  for (let from = 0; from < names.length; from += atOnce) {
    const batch = names.slice(from, from + atOnce).map(async (name, index) => {
      const handle = session.handle(name);
      handles[from + index] = handle;
      await handle.lock();
    });
    await Promise.all(batch);
  }
  return handles;
}

/** So many names that begin with `name`. */
export function manyNames(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, lock) => `${name}.${lock}`);
}
