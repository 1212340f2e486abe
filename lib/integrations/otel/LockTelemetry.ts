import {
  type Attributes,
  type Context,
  context,
  type Meter,
  type ObservableResult,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AcquireMessage, AcquireSubject, HoldMessage, RenewalMessage } from '../../api';
import { DURATION_BUCKETS, followLocks, isUnexpectedLoss, type LockListener } from '../../telemetry/followLocks';
import { Longest, type UnderWay } from '../../telemetry/Longest';
import { shownName } from '../../telemetry/shownName';
import { anyGlobTest } from '../../util/glob';

/** The destination of spans and metrics. All of it may change at any time. */
export interface TelemetrySource {
  tracer(): Tracer;
  meter(): Meter;
  nameOf(): ((name: string) => string | undefined) | undefined;
  expectedWaits(): readonly string[] | undefined;
}

/** The state of an acquisition or a hold that is under way. */
interface Open extends UnderWay<Attributes> {
  readonly span: Span;
}

type Instruments = ReturnType<typeof createInstruments>;

const SYSTEM = { 'db.system.name': 'redis' } as const;

/** Turns messages of the diagnostics channels into spans and metrics. Never throws, whatever `nameOf` does. */
export class LockTelemetry implements LockListener<Context> {
  readonly #source: TelemetrySource;
  readonly #acquiring = new Map<AcquireMessage, Open>();
  readonly #holding = new Map<HoldMessage, Open>();
  readonly #longestWait = new Longest<Attributes>();
  readonly #longestHold = new Longest<Attributes>();
  #instruments: Instruments | undefined;

  constructor(source: TelemetrySource) {
    this.#source = source;
  }

  /** Starts. @returns a function that stops it, and ends the open spans */
  follow(): () => void {
    // Runs bound functions in a context of OpenTelemetry, with any context manager. It stores nothing itself.
    const run = <R>(active: Context, fn: () => R): R => context.with(active, fn);
    return followLocks(this, Object.assign(new AsyncLocalStorage<Context>(), { run }));
  }

  acquireStarted(message: AcquireMessage): Context {
    const parent = context.active();
    const attributes = this.#attributes(message);
    // Before the acquisition is in the map: new instruments count the entries of the map.
    const instruments = this.#current();
    instruments.waiters.add(1, attributes);
    // Starts the series at 0, so that the first error counts as an increase.
    instruments.acquisitions.add(0, { ...attributes, outcome: 'error' });
    const span = this.#startSpan('lock acquire', message);
    this.#acquiring.set(message, { span, labels: attributes, since: performance.now() });
    return trace.setSpan(parent, span);
  }

  acquireEnded(message: AcquireMessage, ended: boolean): void {
    const instruments = this.#current();
    const { span, labels: attributes } = this.#acquiring.get(message)!;
    this.#acquiring.delete(message);
    instruments.waiters.add(-1, attributes);
    if (ended) {
      const { outcome, waitedMs, attempts, handedOver, error } = message;
      instruments.waitDuration.record(waitedMs! / 1_000, attributes);
      instruments.acquisitions.add(1, { ...attributes, outcome: outcome! });
      span.setAttributes({
        'ioredisson.lock.outcome': outcome!,
        'ioredisson.lock.attempts': attempts!,
        'ioredisson.lock.handed_over': handedOver!,
        'ioredisson.thread.id': message.threadId,
      });
      if (outcome === 'error') fail(span, error);
    }
    span.end();
  }

  holdStarted(message: HoldMessage): void {
    const attributes = this.#attributes(message);
    const instruments = this.#current();
    instruments.held.add(1, attributes);
    // Starts the series at 0, so that the first loss counts as an increase.
    instruments.lost.add(0, attributes);
    const span = this.#startSpan('lock hold', message);
    if (message.token !== undefined) span.setAttribute('ioredisson.lock.token', String(message.token));
    this.#holding.set(message, { span, labels: attributes, since: performance.now() });
  }

  holdEnded(message: HoldMessage, ended: boolean): void {
    const instruments = this.#current();
    const { span, labels: attributes } = this.#holding.get(message)!;
    this.#holding.delete(message);
    instruments.held.add(-1, attributes);
    if (ended) {
      const { outcome, heldMs, error } = message;
      instruments.holdDuration.record(heldMs! / 1_000, attributes);
      span.setAttribute('ioredisson.lock.outcome', outcome!);
      if (isUnexpectedLoss(message)) instruments.lost.add(1, attributes);
      if (outcome === 'lost') {
        span.setAttribute('error.type', typeOf(error));
        span.addEvent('lock lost', { 'exception.type': typeOf(error), 'exception.message': textOf(error) });
        span.setStatus({ code: SpanStatusCode.ERROR, message: textOf(error) });
      } else if (error !== undefined) fail(span, error);
    }
    span.end();
  }

  renewed({ error }: RenewalMessage): void {
    this.#current().renewalErrors.add(error === undefined ? 0 : 1, SYSTEM);
  }

  /** Starts a child of the span that is active at the call. */
  #startSpan(name: string, message: AcquireSubject): Span {
    const attributes = this.#attributes(message, message.name);
    attributes['ioredisson.client.id'] = message.clientId;
    attributes['ioredisson.thread.id'] = message.threadId;
    if (message.waitTime !== Infinity) attributes['ioredisson.lock.wait_time'] = message.waitTime;
    if (message.leaseTime !== -1) attributes['ioredisson.lock.lease_time'] = message.leaseTime;
    return this.#source.tracer().startSpan(name, { kind: SpanKind.INTERNAL, attributes });
  }

  /** @param usual - the name to show without `nameOf` */
  #attributes({ kind, name }: AcquireSubject, usual?: string): Attributes {
    const attributes: Attributes = { ...SYSTEM, 'ioredisson.lock.kind': kind };
    const shown = shownName(this.#source.nameOf(), name, usual);
    if (shown !== undefined) attributes['ioredisson.lock.name'] = shown;
    return attributes;
  }

  /** The waits under way that are trouble if they are long. */
  #waits(): readonly Open[] {
    const isExpected = anyGlobTest(this.#source.expectedWaits() ?? []);
    return [...this.#acquiring].filter(([{ name }]) => !isExpected(name)).map(([, wait]) => wait);
  }

  /** The instruments of the present meter. New instruments start with what is under way. */
  #current(): Instruments {
    const meter = this.#source.meter();
    if (this.#instruments?.meter === meter) return this.#instruments;
    this.#instruments?.stopGauges();
    const instruments = createInstruments(meter, {
      oldestWait: (result) => this.#longestWait.read(this.#waits(), (s, labels) => result.observe(s, labels)),
      longestHold: (result) => this.#longestHold.read(this.#holding.values(), (s, labels) => result.observe(s, labels)),
    });
    this.#instruments = instruments;
    for (const { labels } of this.#acquiring.values()) instruments.waiters.add(1, labels);
    for (const { labels } of this.#holding.values()) instruments.held.add(1, labels);
    return instruments;
  }
}

/** The callbacks of the gauges, called when metrics are collected. */
type Observers = Readonly<Record<'oldestWait' | 'longestHold', (result: ObservableResult) => void>>;

function createInstruments(meter: Meter, observers: Observers) {
  const advice = { explicitBucketBoundaries: [...DURATION_BUCKETS] };
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: 's', description, advice });
  const gauge = (name: string, description: string) => meter.createObservableGauge(name, { unit: 's', description });
  const oldestWait = gauge('ioredisson.lock.oldest_wait', 'How long the oldest acquisition under way has waited');
  const longestHold = gauge('ioredisson.lock.longest_hold', 'How long the oldest hold of this process has lasted');
  oldestWait.addCallback(observers.oldestWait);
  longestHold.addCallback(observers.longestHold);
  return {
    meter,
    waitDuration: seconds('ioredisson.lock.wait.duration', 'Time from asking for a lock to the outcome'),
    holdDuration: seconds('ioredisson.lock.hold.duration', 'Time from acquiring a lock to giving it back or losing it'),
    acquisitions: meter.createCounter('ioredisson.lock.acquisitions', {
      unit: '{acquisition}',
      description: 'Acquisitions that have ended',
    }),
    lost: meter.createCounter('ioredisson.lock.lost', { unit: '{hold}', description: 'Holds that were lost' }),
    renewalErrors: meter.createCounter('ioredisson.renewal.errors', {
      unit: '{batch}',
      description: 'Batches of renewals that failed',
    }),
    held: meter.createUpDownCounter('ioredisson.lock.held', { unit: '{hold}', description: 'Holds of this process' }),
    waiters: meter.createUpDownCounter('ioredisson.lock.waiters', {
      unit: '{acquisition}',
      description: 'Acquisitions of this process that are under way',
    }),
    stopGauges: () => {
      oldestWait.removeCallback(observers.oldestWait);
      longestHold.removeCallback(observers.longestHold);
    },
  };
}

function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', typeOf(error));
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: textOf(error) });
}

function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
