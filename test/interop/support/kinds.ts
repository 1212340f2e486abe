import { at, type Path } from './paths';
import type { PeerThread } from './PeerThread';

/** One kind of exclusive lock. */
export interface LockKind {
  readonly title: string;
  readonly path: (name: string) => Path;
  /** The channel on which a thread waits for it; `undefined` for the spin lock, which asks again and again. */
  readonly channel: (name: string, waiter: PeerThread) => Promise<string | undefined>;
  readonly reentrant: boolean;
  /** The keys that stay when nobody holds it or waits for it. */
  readonly leaves: (name: string) => readonly string[];
  /** The version of Redisson that brought it, where that matters. */
  readonly since?: string;
}

const common = (name: string): Promise<string> => Promise.resolve(`redisson_lock__channel:{${name}}`);
const own = async (name: string, waiter: PeerThread): Promise<string> =>
  `redisson_lock__channel:{${name}}:${await waiter.owner()}`;

const nothing = (): readonly string[] => [];

/** Every kind that lets one thread in at a time. */
export const EXCLUSIVE_LOCKS: readonly LockKind[] = [
  { title: 'lock', path: at.lock, channel: common, reentrant: true, leaves: nothing },
  { title: 'fair lock', path: at.fair, channel: own, reentrant: true, leaves: nothing },
  {
    title: 'fenced lock',
    path: at.fenced,
    channel: common,
    reentrant: true,
    leaves: (name) => [`redisson_lock_token:{${name}}`],
    since: '3.19.0',
  },
  {
    title: 'write lock',
    path: at.write,
    channel: (name) => Promise.resolve(`redisson_rwlock:{${name}}`),
    reentrant: true,
    leaves: nothing,
  },
  { title: 'spin lock', path: at.spin, channel: () => Promise.resolve(undefined), reentrant: true, leaves: nothing },
  {
    title: 'non-reentrant lock',
    path: at.nonReentrant,
    channel: common,
    reentrant: false,
    leaves: nothing,
    since: '4.4.0',
  },
  {
    title: 'non-reentrant fair lock',
    path: at.nonReentrantFair,
    channel: own,
    reentrant: false,
    leaves: nothing,
    since: '4.4.0',
  },
];
