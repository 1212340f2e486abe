import { laterForReal } from '../../tools/realTimers';

/** Far below the lease of the watchdog, far above anything a wake-up takes, in ms. */
export const SOON_MS = 5_000;

/** What `work` comes to, or an error when it takes too long. */
export function within<T>(limit: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = laterForReal(() => reject(new Error(`not within ${limit} ms`)), limit);
    work.then(resolve, reject).finally(cancel);
  });
}

/** The error that `work` rejects with. */
export async function failure(work: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}
