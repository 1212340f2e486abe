import { type LockSession, type SessionOptions } from '../harness/contestant';
import { openBuild } from './openBuild';

/** This package, with waiters that follow each other before Redis knows. */
export function open(options: SessionOptions): Promise<LockSession> {
  return openBuild('package', options, { localHandOver: true });
}
