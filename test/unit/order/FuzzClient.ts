import type { LockHold, RLock } from '../../../lib/api';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import type { Settings } from '../../../lib/config/Settings';
import { ConnectionMonitor } from '../../../lib/connection/ConnectionMonitor';
import { Executor } from '../../../lib/connection/Executor';
import { NO_SUBSCRIBER } from '../../../lib/connection/pubsub/Subscriber';
import { Redisson } from '../../../lib/Redisson';
import { type Delay, FuzzLink, FuzzSubscriber, type Observer } from './FuzzLink';
import type { FuzzServer } from './FuzzServer';
import type { Claim } from './Judge';
import type { Mode } from './modes';

/** One lock that calls of a seed use; several of a family may exclude each other. */
export interface Target {
  readonly what: string;
  readonly claims: readonly Claim[];
  of(client: FuzzClient): RLock;
}

/** A client over a {@link FuzzLink}. */
export class FuzzClient {
  readonly redisson: Redisson;
  link!: FuzzLink;
  subscriber!: FuzzSubscriber;
  /** `forceUnlock()` calls, and runs of their script. */
  forcedCalls = 0;
  forcedRuns = 0;
  /** A shutdown has begun, or it is over. */
  closing = false;
  closed = false;
  /** Signals of its holds, as the callers see them. */
  readonly inside = new Set<LockHold>();

  constructor(
    readonly label: string,
    server: FuzzServer,
    options: { localHandOver: boolean; watchdogMs: number; timeout: number },
    delay: Delay,
    observer: Observer,
  ) {
    const { localHandOver, watchdogMs, timeout } = options;
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    const resolved = resolveConfig(
      { localHandOver, timeout, retryAttempts: 2, lockWatchdogTimeout: watchdogMs, logger: silent },
      {},
    );
    const topology = Object.freeze({ kind: 'single', address: Object.freeze({ host: 'fuzz', port: 0 }) } as const);
    const settings: Settings = Object.freeze({ ...resolved, topology });
    this.redisson = Redisson.over(settings, (complete) => {
      this.link = new FuzzLink(label, server, delay, timeout, observer);
      this.subscriber = new FuzzSubscriber(server, delay);
      const executor = new Executor(this.link, complete);
      const monitor = new ConnectionMonitor(this.link);
      return { executor, subscriber: this.subscriber, monitor, keyEvents: { database: 0, open: () => NO_SUBSCRIBER } };
    });
  }

  get id(): string {
    return this.redisson.getId();
  }
}

/** Only writers pass the lock on. */
const HANDED_HALVES = ['write', 'write', 'read'] as const;

/**
 * The locks of a mode. Only those who wait for the very same thing pass it on, so with `localHandOver` there are fewer.
 */
export function targetsOf({ family, local }: Mode): readonly Target[] {
  const N = 'res';
  const single = (of: Target['of']): readonly Target[] => [{ what: N, claims: [{ key: N }], of }];
  switch (family) {
    case 'lock':
      return single(({ redisson }) => redisson.getLock(N));
    case 'fair':
      return single(({ redisson }) => redisson.getFairLock(N));
    case 'fenced':
      return single(({ redisson }) => redisson.getFencedLock(N));
    case 'spin':
      return single(({ redisson }) => redisson.getSpinLock(N));
    case 'nonReentrant':
      return single(({ redisson }) => redisson.getNonReentrantLock(N));
    case 'nonReentrantFair':
      return single(({ redisson }) => redisson.getNonReentrantFairLock(N));
    case 'readWrite':
      return (local ? HANDED_HALVES : (['read', 'read', 'write'] as const)).map((half) => ({
        what: half,
        claims: [{ key: N, half }],
        of: ({ redisson }) => {
          const pair = redisson.getReadWriteLock(N);
          return half === 'read' ? pair.readLock() : pair.writeLock();
        },
      }));
    case 'group':
      return (local ? ['ab', 'ab', 'ab', 'bc'] : ['a', 'ab', 'bc', 'c', 'abc']).map((values) => ({
        what: `{${values}}`,
        claims: [...values].map((value) => ({ key: N, value })),
        of: ({ redisson }) => redisson.getMultiLock(N, [...values]),
      }));
    case 'multi': {
      const member = (key: string): Target => ({
        what: key,
        claims: [{ key }],
        of: ({ redisson }) => redisson.getLock(key),
      });
      const both: Target = {
        what: 'x+y',
        claims: [{ key: 'x' }, { key: 'y' }],
        of: ({ redisson }) => redisson.getMultiLock(redisson.getLock('x'), redisson.getLock('y')),
      };
      return [both, both, member('x'), member('y')];
    }
  }
}
