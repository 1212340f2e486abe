import { type LockSession, type SessionOptions } from '../harness/contestant';
import { openBuild } from './openBuild';

/** This package. */
export function open(options: SessionOptions): Promise<LockSession> {
  return openBuild('package', options);
}
