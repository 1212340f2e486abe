import { type LockSession, type SessionOptions } from '../harness/contestant';
import { openBuild } from './openBuild';

/** The build that `--beside` names. */
export function open(options: SessionOptions): Promise<LockSession> {
  return openBuild('beside', options);
}
