import { openStage, type Stage } from '../redis/synchronizers/support';
import type { SemaphoreFactory, SemaphoreUnderTest } from './SemaphoreUnderTest';

/** What a test of the semaphore contract works with. */
export interface SemaphoreStage extends Stage {
  /** A handle of `client` for `name`. */
  readonly semaphore: SemaphoreUnderTest;
  /** Where its waiters listen. */
  readonly channel: string;
}

/** A stage for each test of a `describe`. */
export function useSemaphoreStage(make: SemaphoreFactory): () => SemaphoreStage {
  let stage: SemaphoreStage | undefined;
  beforeEach(() => {
    const opened = openStage('semaphore');
    stage = {
      ...opened,
      semaphore: make(opened.client, opened.name),
      channel: `redisson_sc:{${opened.name}}`,
    };
  });
  return () => stage!;
}
