import type { Redis } from 'ioredis';
import { skip } from './skip';

/**
 * Makes a server load its data slowly and answer meanwhile. Skips the test where it cannot: before Redis 7.
 *
 * @param admin - a connection to it
 */
export async function loadSlowly(context: Mocha.Context, admin: Redis): Promise<void> {
  try {
    await admin.config('SET', 'loading-process-events-interval-bytes', '1024');
  } catch {
    skip(context, 'before Redis 7 a server cannot be told to answer often while it loads');
  }
  await admin.config('SET', 'key-load-delay', '100');
}
