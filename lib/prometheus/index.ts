/**
 * Metrics of locks for Prometheus.
 * @module ioredisson/prometheus
 */

import { Counter, Gauge, Histogram, register as defaultRegister, type Registry } from 'prom-client';
import type { AcquireSubject } from '../api';
import { DURATION_BUCKETS, followLocks, isUnexpectedLoss, type LockListener } from '../telemetry/followLocks';

/** Options of {@link collectLockMetrics}. */
export interface LockMetricsOptions {
  /** Where the metrics are registered. @default the registry of prom-client */
  readonly register?: Registry;
  /** What their names begin with. @default `ioredisson_` */
  readonly prefix?: string;
}

/** What collects into one registry under one prefix, and how many calls want it. */
interface Collector {
  users: number;
  readonly stop: () => void;
}

/** Who collects into a registry: registry -> prefix -> collector. */
const collectors = new WeakMap<Registry, Map<string, Collector>>();

/**
 * Collects metrics of all locks and synchronizers of this process, of every client, from what begins from now on.
 * Called again for the same registry and prefix, it counts nothing twice.
 *
 * | metric                       | type      | labels            |
 * |------------------------------|-----------|-------------------|
 * | `lock_wait_duration_seconds` | histogram | `kind`            |
 * | `lock_hold_duration_seconds` | histogram | `kind`            |
 * | `lock_acquisitions_total`    | counter   | `kind`, `outcome` |
 * | `lock_lost_total`            | counter   | `kind`            |
 * | `renewal_errors_total`       | counter   |                   |
 * | `lock_held`                  | gauge     | `kind`            |
 * | `lock_waiters`               | gauge     | `kind`            |
 *
 * Names of locks are no labels: there may be any number of them.
 *
 * @returns what stops it; the metrics stay registered, with what they have counted
 */
export function collectLockMetrics({
  register = defaultRegister,
  prefix = 'ioredisson_',
}: LockMetricsOptions = {}): () => void {
  let ofRegistry = collectors.get(register);
  if (ofRegistry === undefined) collectors.set(register, (ofRegistry = new Map<string, Collector>()));
  let collector = ofRegistry.get(prefix);
  if (collector === undefined) {
    collector = { users: 0, stop: followLocks(metricsListener(register, prefix)) };
    ofRegistry.set(prefix, collector);
  }
  const own = collector;
  own.users++;
  let stopped = false;
  return () => {
    if (stopped) return;
    stopped = true;
    if (--own.users > 0) return;
    ofRegistry.delete(prefix);
    own.stop();
  };
}

function metricsListener(register: Registry, prefix: string): LockListener {
  const about = <L extends string>(name: string, help: string, labelNames: readonly L[]) => ({
    name: prefix + name,
    help,
    labelNames: [...labelNames],
    registers: [register],
  });
  /** The one that is registered already, by an earlier call that was stopped. */
  const known = <M>(name: string, make: () => M): M =>
    (register.getSingleMetric(prefix + name) as M | undefined) ?? make();
  const histogram = (name: string, help: string): Histogram<'kind'> =>
    known(name, () => new Histogram({ ...about(name, help, ['kind']), buckets: [...DURATION_BUCKETS] }));
  const counter = <L extends string>(name: string, help: string, labels: readonly L[]): Counter<L> =>
    known(name, () => new Counter(about(name, help, labels)));
  const gauge = (name: string, help: string): Gauge<'kind'> =>
    known(name, () => new Gauge(about(name, help, ['kind'])));

  const waitDuration = histogram('lock_wait_duration_seconds', 'Time from asking for a lock to the outcome');
  const holdDuration = histogram(
    'lock_hold_duration_seconds',
    'Time from acquiring a lock to giving it back or losing it',
  );
  const acquisitions = counter('lock_acquisitions_total', 'Acquisitions that have ended', ['kind', 'outcome']);
  const losses = counter('lock_lost_total', 'Holds that were lost', ['kind']);
  const renewalErrors = counter('renewal_errors_total', 'Batches of renewals that failed', []);
  const held = gauge('lock_held', 'Holds of this process');
  const waiters = gauge('lock_waiters', 'Acquisitions of this process that are under way');
  const labels = ({ kind }: AcquireSubject): { kind: string } => ({ kind });
  return {
    acquireStarted: (message) => {
      waiters.inc(labels(message));
      // So that the first error is an increase.
      acquisitions.inc({ kind: message.kind, outcome: 'error' }, 0);
    },
    acquireEnded: (message, ended) => {
      waiters.dec(labels(message));
      if (!ended) return;
      waitDuration.observe(labels(message), message.waitedMs! / 1_000);
      acquisitions.inc({ kind: message.kind, outcome: message.outcome! });
    },
    holdStarted: (message) => {
      held.inc(labels(message));
      // So that the first loss is an increase.
      losses.inc(labels(message), 0);
    },
    holdEnded: (message, ended) => {
      held.dec(labels(message));
      if (!ended) return;
      holdDuration.observe(labels(message), message.heldMs! / 1_000);
      if (isUnexpectedLoss(message)) losses.inc(labels(message));
    },
    renewed: ({ error }) => {
      if (error !== undefined) renewalErrors.inc();
    },
  };
}
