/**
 * Metrics of locks for Prometheus.
 * @module ioredisson/prometheus
 */

import { Counter, Gauge, Histogram, register as defaultRegister, type Registry } from 'prom-client';
import type { AcquireMessage, AcquireSubject, HoldMessage } from '../../api';
import { ConfigError } from '../../errors';
import { needPeer } from '../frameworks/needPeer';
import { DURATION_BUCKETS, followLocks, isUnexpectedLoss, type LockListener } from '../../telemetry/followLocks';
import { Longest, type UnderWay } from '../../telemetry/Longest';
import { shownName } from '../../telemetry/shownName';
import { anyGlobTest } from '../../util/glob';

needPeer('ioredisson/prometheus', 'prom-client', '15.0');

/** Options of {@link collectLockMetrics}. */
export interface LockMetricsOptions {
  /** The registry for the metrics. @default the default registry of prom-client */
  readonly register?: Registry;
  /** The prefix of all metric names. @default `ioredisson_` */
  readonly prefix?: string;
  /**
   * Returns the label `name` for the name of a lock; `undefined`: no label. It should return few different values,
   * since each one is a time series of its own. Of several calls for one registry and prefix, the first decides.
   * @default there is no label `name`
   */
  readonly nameOf?: (name: string) => string | undefined;
  /**
   * Patterns of names, in the syntax of SCAN: `leader:*`. Long waits for these are no trouble, so that they do not
   * count in `lock_oldest_wait_seconds`, on which the alerts are. Of several calls for one registry and prefix, the
   * first decides.
   * @default none
   */
  readonly expectedWaits?: readonly string[];
}

/** The labels of a lock's series. */
type Labels = Partial<Record<'kind' | 'name', string>>;

/** A collector for one registry and prefix, and how many calls use it. */
interface Collector {
  users: number;
  readonly stop: () => void;
}

/** The collectors of each registry: registry -> prefix -> collector. */
const collectors = new WeakMap<Registry, Map<string, Collector>>();

/**
 * Collects metrics of all locks and synchronizers of this process, of every client. It counts what begins after the
 * call. A second call for the same registry and prefix counts nothing twice.
 *
 * | metric                       | type      | labels                    |
 * |------------------------------|-----------|---------------------------|
 * | `lock_wait_duration_seconds` | histogram | `kind`, `name`            |
 * | `lock_hold_duration_seconds` | histogram | `kind`, `name`            |
 * | `lock_acquisitions_total`    | counter   | `kind`, `name`, `outcome` |
 * | `lock_lost_total`            | counter   | `kind`, `name`            |
 * | `renewal_errors_total`       | counter   |                           |
 * | `lock_held`                  | gauge     | `kind`, `name`            |
 * | `lock_waiters`               | gauge     | `kind`, `name`            |
 * | `lock_oldest_wait_seconds`   | gauge     | `kind`, `name`            |
 * | `lock_longest_hold_seconds`  | gauge     | `kind`, `name`            |
 *
 * The label `name` exists only with `nameOf`: there may be any number of names.
 *
 * @returns a function that stops the collection; the metrics stay registered, with their values
 * @throws ConfigError for an unknown option
 */
export function collectLockMetrics(options: LockMetricsOptions = {}): () => void {
  const { register = defaultRegister, prefix = 'ioredisson_', nameOf, expectedWaits = [], ...others } = options;
  // Not by `checkOptionNames`: loading the main entry point would then take two more files.
  for (const name in others) {
    throw new ConfigError(`Unknown option '${name}' (known: register, prefix, nameOf, expectedWaits)`);
  }
  if (!Array.isArray(expectedWaits) || !expectedWaits.every((one) => typeof one === 'string')) {
    throw new ConfigError("expectedWaits must be a list of patterns of names like 'leader:*'");
  }
  let ofRegistry = collectors.get(register);
  if (ofRegistry === undefined) collectors.set(register, (ofRegistry = new Map<string, Collector>()));
  let collector = ofRegistry.get(prefix);
  if (collector === undefined) {
    collector = { users: 0, stop: followLocks(metricsListener(register, prefix, nameOf, anyGlobTest(expectedWaits))) };
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

function metricsListener(
  register: Registry,
  prefix: string,
  nameOf: LockMetricsOptions['nameOf'],
  isExpected: (name: string) => boolean,
): LockListener {
  const ofLock = nameOf === undefined ? (['kind'] as const) : (['kind', 'name'] as const);
  const about = <L extends string>(name: string, help: string, labelNames: readonly L[]) => ({
    name: prefix + name,
    help,
    labelNames: [...labelNames],
    registers: [register],
  });
  /** Reuses a metric that an earlier, stopped call registered. A metric with other labels starts anew. */
  const known = <M>(name: string, labelNames: readonly string[], make: () => M): M => {
    const found = register.getSingleMetric(prefix + name) as (M & { readonly labelNames?: string[] }) | undefined;
    if (found?.labelNames?.join() === labelNames.join()) return found;
    register.removeSingleMetric(prefix + name);
    return make();
  };
  const histogram = (name: string, help: string): Histogram<keyof Labels> =>
    known(name, ofLock, () => new Histogram({ ...about(name, help, ofLock), buckets: [...DURATION_BUCKETS] }));
  const counter = <L extends string>(name: string, help: string, labels: readonly L[]): Counter<L> =>
    known(name, labels, () => new Counter(about(name, help, labels)));
  const gauge = (name: string, help: string): Gauge<keyof Labels> =>
    known(name, ofLock, () => new Gauge(about(name, help, ofLock)));
  /** A gauge that is computed when metrics are collected. */
  const longestOf = (name: string, help: string, underWay: () => Iterable<UnderWay<Labels>>): void => {
    const longest = new Longest<Labels>();
    register.removeSingleMetric(prefix + name);
    new Gauge({
      ...about(name, help, ofLock),
      collect() {
        longest.read(underWay(), (seconds, labels) => this.set(labels, seconds));
      },
    });
  };

  const waitDuration = histogram('lock_wait_duration_seconds', 'Time from asking for a lock to the outcome');
  const holdDuration = histogram(
    'lock_hold_duration_seconds',
    'Time from acquiring a lock to giving it back or losing it',
  );
  const acquisitions = counter('lock_acquisitions_total', 'Acquisitions that have ended', [...ofLock, 'outcome']);
  const losses = counter('lock_lost_total', 'Holds that were lost', ofLock);
  const renewalErrors = counter('renewal_errors_total', 'Batches of renewals that failed', []);
  const held = gauge('lock_held', 'Holds of this process');
  const waiters = gauge('lock_waiters', 'Acquisitions of this process that are under way');
  const acquiring = new Map<AcquireMessage, UnderWay<Labels>>();
  const holding = new Map<HoldMessage, UnderWay<Labels>>();
  longestOf('lock_oldest_wait_seconds', 'How long the oldest acquisition under way has waited', () => {
    const counted = [...acquiring].filter(([{ name }]) => !isExpected(name));
    return counted.map(([, wait]) => wait);
  });
  longestOf('lock_longest_hold_seconds', 'How long the oldest hold of this process has lasted', () => holding.values());

  const labelsOf = ({ kind, name }: AcquireSubject): Labels => {
    const shown = shownName(nameOf, name);
    return shown === undefined ? { kind } : { kind, name: shown };
  };
  const begin = <M extends AcquireSubject>(underWay: Map<M, UnderWay<Labels>>, message: M): Labels => {
    const labels = labelsOf(message);
    underWay.set(message, { labels, since: performance.now() });
    return labels;
  };
  const end = <M extends AcquireSubject>(underWay: Map<M, UnderWay<Labels>>, message: M): Labels => {
    const { labels } = underWay.get(message)!;
    underWay.delete(message);
    return labels;
  };
  return {
    acquireStarted: (message) => {
      const labels = begin(acquiring, message);
      waiters.inc(labels);
      // Starts the series at 0, so that the first error counts as an increase.
      acquisitions.inc({ ...labels, outcome: 'error' }, 0);
    },
    acquireEnded: (message, ended) => {
      const labels = end(acquiring, message);
      waiters.dec(labels);
      if (!ended) return;
      waitDuration.observe(labels, message.waitedMs! / 1_000);
      acquisitions.inc({ ...labels, outcome: message.outcome! });
    },
    holdStarted: (message) => {
      const labels = begin(holding, message);
      held.inc(labels);
      // Starts the series at 0, so that the first loss counts as an increase.
      losses.inc(labels, 0);
    },
    holdEnded: (message, ended) => {
      const labels = end(holding, message);
      held.dec(labels);
      if (!ended) return;
      holdDuration.observe(labels, message.heldMs! / 1_000);
      if (isUnexpectedLoss(message)) losses.inc(labels);
    },
    renewed: ({ error }) => {
      if (error !== undefined) renewalErrors.inc();
    },
  };
}
