import { context, metrics, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { DataPointType, type HistogramMetricData, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { Redisson } from '../../../lib';
import { RedissonInstrumentation, type RedissonInstrumentationConfig } from '../../../lib/integrations/otel';
import { projectRoot } from '../../../tools/buildOutput';
import { sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';
import { KINDS } from './kinds';
import { anySubscriber, needTracedCommands } from './Recorder';

/** Collects when asked. */
class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

interface Point {
  readonly value: number;
  readonly attributes: object;
}

describe('ioredisson/otel', () => {
  let redis: Redis;
  let client: Redisson;
  let name: string;
  let exporter: InMemorySpanExporter;
  let tracers: BasicTracerProvider;
  let meters: MeterProvider;
  let reader: Reader;

  beforeEach(() => {
    redis = bareClient();
    client = newClient();
    name = uniqueName('otel');
    exporter = new InMemorySpanExporter();
    tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    reader = new Reader();
    meters = new MeterProvider({ readers: [reader] });
    const manager = new AsyncLocalStorageContextManager().enable();
    context.setGlobalContextManager(manager);
    trackClient({
      close: () => {
        for (const api of [context, trace, metrics]) api.disable();
        manager.disable();
        expect(anySubscriber()).to.equal(false);
      },
    });
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  /** As a user does, until the test ends. */
  function instrument(config?: RedissonInstrumentationConfig): RedissonInstrumentation {
    const instrumentation = new RedissonInstrumentation(config);
    const stop = registerInstrumentations({
      instrumentations: [instrumentation],
      tracerProvider: tracers,
      meterProvider: meters,
    });
    trackClient({ close: stop });
    return instrumentation;
  }

  /** Runs `run` in a span of the caller, which it ends. */
  async function inSpan<T>(run: (span: Span) => Promise<T>): Promise<T> {
    return tracers.getTracer('test').startActiveSpan('caller', async (span) => {
      try {
        return await run(span);
      } finally {
        span.end();
      }
    });
  }

  function spans(of: string): ReadableSpan[] {
    return exporter.getFinishedSpans().filter((span) => span.name === of);
  }

  async function points(metric: string): Promise<Point[]> {
    const { resourceMetrics } = await reader.collect();
    const found = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return found
      .filter(({ descriptor }) => descriptor.name === metric)
      .flatMap((one) =>
        one.dataPointType === DataPointType.HISTOGRAM
          ? one.dataPoints.map(({ value, attributes }) => ({ value: value.count, attributes }))
          : (one.dataPoints as Point[]).map(({ value, attributes }) => ({ value, attributes })),
      );
  }

  async function total(metric: string): Promise<number> {
    return (await points(metric)).reduce((sum, { value }) => sum + value, 0);
  }

  for (const { kind, make, nameOf } of KINDS) {
    it(`makes spans and metrics of a lock of kind ${kind}`, async () => {
      instrument();
      const caller = await inSpan(async (span) => {
        await make(client, name).withLock(() => Promise.resolve());
        return span.spanContext();
      });
      const [acquire, ...more] = spans('lock acquire');
      const [hold, ...others] = spans('lock hold');
      expect([...more, ...others]).to.deep.equal([]);
      for (const span of [acquire!, hold!]) {
        expect(span.parentSpanContext?.spanId).to.equal(caller.spanId);
        expect(span.attributes).to.include({ 'ioredisson.lock.kind': kind, 'db.system.name': 'redis' });
        expect(span.attributes).to.include({ 'ioredisson.lock.name': nameOf(name) });
        expect(span.status.code).to.equal(SpanStatusCode.UNSET);
      }
      expect(acquire!.attributes).to.include({ 'ioredisson.lock.outcome': 'acquired' });
      expect(hold!.attributes).to.include({ 'ioredisson.lock.outcome': 'released' });
      const attributes = { 'db.system.name': 'redis', 'ioredisson.lock.kind': kind };
      expect(await points('ioredisson.lock.acquisitions')).to.deep.equal([
        // From 0 on, so that an alert on the increase of errors sees the first one.
        { value: 0, attributes: { ...attributes, outcome: 'error' } },
        { value: 1, attributes: { ...attributes, outcome: 'acquired' } },
      ]);
      expect(await points('ioredisson.lock.wait.duration')).to.deep.equal([{ value: 1, attributes }]);
      expect(await points('ioredisson.lock.hold.duration')).to.deep.equal([{ value: 1, attributes }]);
      expect(await points('ioredisson.lock.held')).to.deep.equal([{ value: 0, attributes }]);
      expect(await points('ioredisson.lock.waiters')).to.deep.equal([{ value: 0, attributes }]);
      expect(await points('ioredisson.lock.lost')).to.deep.equal([{ value: 0, attributes }]);
    });
  }

  it('D6: shows how long the oldest wait and the longest hold last while they last', async () => {
    const instrumentation = instrument({ nameOf: (one) => one.slice(0, 4) });
    const attributes = { 'db.system.name': 'redis', 'ioredisson.lock.kind': 'lock', 'ioredisson.lock.name': 'otel' };
    const hold = await client.getLock(name).acquire();
    const controller = new AbortController();
    const waiting = rejection(client.getLock(name).acquire({ signal: controller.signal }));
    for (const metric of ['ioredisson.lock.oldest_wait', 'ioredisson.lock.longest_hold']) {
      await sleepUntil(async () => (await total(metric)) > 0.06);
      expect((await points(metric)).map((point) => point.attributes)).to.deep.equal([attributes]);
    }
    controller.abort();
    await waiting;
    expect(await points('ioredisson.lock.oldest_wait')).to.deep.equal([{ value: 0, attributes }]);
    instrumentation.disable();
    expect(await points('ioredisson.lock.longest_hold')).to.deep.equal([{ value: 0, attributes }]);
    await hold.unlock();
  });

  it('counts durations in seconds', async () => {
    instrument();
    const hold = await client.getLock(name).acquire();
    await new Promise((resolve) => setTimeout(resolve, 60));
    await hold.unlock();
    const { resourceMetrics } = await reader.collect();
    const found = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    const durations = found.filter(({ descriptor }) => descriptor.name.endsWith('.duration')) as HistogramMetricData[];
    expect(durations.map(({ descriptor }) => descriptor.unit)).to.deep.equal(['s', 's']);
    const held = durations.find(({ descriptor }) => descriptor.name === 'ioredisson.lock.hold.duration')!;
    expect(held.dataPoints[0]!.value.sum).to.be.within(0.055, 30);
    expect(held.dataPoints[0]!.value.buckets.boundaries).to.include.members([0.001, 600]);
  });

  it('is the parent of the commands of an acquisition, of each attempt of a waiter too', async function () {
    needTracedCommands(this);
    instrument();
    const tracer = tracers.getTracer('ioredis');
    const open = new Map<object, Span>();
    const commands = tracingChannel<unknown, { command: string }>('ioredis:command');
    const subscriber = {
      start: (message: { command: string }) => void open.set(message, tracer.startSpan(message.command.toUpperCase())),
      end: () => undefined,
      asyncStart: () => undefined,
      asyncEnd: (message: object) => open.get(message)?.end(),
      error: () => undefined,
    };
    commands.subscribe(subscriber);
    trackClient({ close: () => commands.unsubscribe(subscriber) });
    const blocker = await client.getLock(name).acquire();
    exporter.reset();
    await inSpan(async () => {
      // Long enough for an attempt on a busy machine: one that is under way at the end is undone, outside any context.
      expect(await client.getLock(name).tryLock(1_000)).to.equal(false);
      await client.getLock(name).isLocked();
    });
    const [acquire] = spans('lock acquire');
    const attempts = [...spans('EVALSHA'), ...spans('EVAL')];
    expect(attempts.length).to.be.at.least(2);
    for (const attempt of attempts) expect(attempt.parentSpanContext?.spanId).to.equal(acquire!.spanContext().spanId);
    expect(spans('HLEN')[0]!.parentSpanContext?.spanId).to.equal(spans('caller')[0]!.spanContext().spanId);
    await blocker.unlock();
  });

  it('D14: the version of the scopes is that of the package', async () => {
    instrument();
    await client.getLock(name).withLock(() => undefined);
    const { version } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    const [span] = spans('lock hold');
    expect(span!.instrumentationScope).to.include({ name: 'ioredisson', version });
    const { resourceMetrics } = await reader.collect();
    expect(resourceMetrics.scopeMetrics.map(({ scope }) => scope.version)).to.deep.equal([version]);
  });

  it('D14: shows a time-out and an abort as outcomes, and an error as an error with its type', async () => {
    instrument();
    const blocker = await newClient().getLock(name).acquire();
    exporter.reset();
    expect(await client.getLock(name).tryLock()).to.equal(false);
    await rejection(client.getLock(name).acquire({ signal: AbortSignal.abort(new Error('stop')) }));
    await blocker.unlock();
    await redis.set(name, 'text');
    await rejection(client.getLock(name).acquire());
    expect(
      spans('lock acquire').map(({ attributes, status, events }) => [
        attributes['ioredisson.lock.outcome'],
        attributes['error.type'],
        status.code,
        events.map((event) => event.name),
      ]),
    ).to.deep.equal([
      ['timeout', undefined, SpanStatusCode.UNSET, []],
      ['aborted', undefined, SpanStatusCode.UNSET, []],
      ['error', 'CommandError', SpanStatusCode.ERROR, ['exception']],
    ]);
    expect(await total('ioredisson.lock.acquisitions')).to.equal(4);
    expect(await total('ioredisson.lock.waiters')).to.equal(0);
  });

  it('shows a loss as an event and an error, and counts it; not one by a shutdown', async () => {
    instrument();
    const hold = await client.getLock(name).acquire();
    await client.getLock(name).forceUnlock();
    await rejection(hold.unlock());
    const [lost] = spans('lock hold');
    expect(lost!.events.map((event) => event.name)).to.deep.equal(['lock lost']);
    expect(lost!.status.code).to.equal(SpanStatusCode.ERROR);
    expect(lost!.attributes).to.include({ 'ioredisson.lock.outcome': 'lost', 'error.type': 'LockLostError' });
    expect(await total('ioredisson.lock.lost')).to.equal(1);
    const closing = newClient();
    await closing.getLock(name).lock(1_000);
    await closing.shutdown();
    expect(spans('lock hold')).to.have.lengthOf(2);
    expect(await total('ioredisson.lock.lost')).to.equal(1);
    expect(await total('ioredisson.lock.held')).to.equal(0);
  });

  it('counts renewals that fail', async () => {
    instrument();
    channel('ioredisson:renewal').publish({ clientId: 'x', locks: 3, ms: 4 });
    expect(await points('ioredisson.renewal.errors')).to.deep.equal([
      { value: 0, attributes: { 'db.system.name': 'redis' } },
    ]);
    channel('ioredisson:renewal').publish({ clientId: 'x', locks: 3, ms: 4, error: new Error('down') });
    expect(await points('ioredisson.renewal.errors')).to.deep.equal([
      { value: 1, attributes: { 'db.system.name': 'redis' } },
    ]);
  });

  it('shows names only as nameOf makes them, and survives what it throws', async () => {
    instrument({
      nameOf: (of) => {
        if (of.endsWith('secret')) return undefined;
        if (of.endsWith('throws')) throw new Error('nameOf');
        return 'orders';
      },
    });
    for (const suffix of ['', ':secret', ':throws']) await client.getLock(name + suffix).withLock(() => undefined);
    const named = (attributes: object): unknown => (attributes as Record<string, unknown>)['ioredisson.lock.name'];
    expect(spans('lock hold').map(({ attributes }) => named(attributes))).to.deep.equal([
      'orders',
      undefined,
      undefined,
    ]);
    const counted = await points('ioredisson.lock.acquisitions');
    const errors = counted.filter(({ value }) => value === 0);
    expect(errors).to.have.lengthOf(2);
    expect(
      counted.filter(({ value }) => value > 0).map(({ value, attributes }) => [value, named(attributes)]),
    ).to.deep.equal([
      [1, 'orders'],
      [2, undefined],
    ]);
  });

  it('can be disabled in the middle, and enabled again: no span stays open, and no gauge is off', async () => {
    const instrumentation = instrument();
    const hold = await client.getLock(name).acquire();
    const waiting = client.getLock(name).acquire();
    await sleepUntil(async () => (await total('ioredisson.lock.waiters')) === 1);
    expect(await total('ioredisson.lock.held')).to.equal(1);
    instrumentation.disable();
    instrumentation.disable();
    expect(anySubscriber()).to.equal(false);
    expect([...spans('lock acquire'), ...spans('lock hold')]).to.have.lengthOf(3);
    expect(await total('ioredisson.lock.waiters')).to.equal(0);
    expect(await total('ioredisson.lock.held')).to.equal(0);
    instrumentation.enable();
    instrumentation.enable();
    await hold.unlock();
    await (await waiting).unlock();
    expect(await total('ioredisson.lock.held')).to.equal(0);
    await client.getLock(name).withLock(() => undefined);
    // The one of the waiter has begun since.
    expect(spans('lock hold')).to.have.lengthOf(3);
    expect(await total('ioredisson.lock.acquisitions')).to.equal(2);
  });

  it('takes providers that are set after it was made, and what is held by then', async () => {
    const instrumentation = new RedissonInstrumentation();
    trackClient({ close: () => instrumentation.disable() });
    const hold = await client.getLock(name).acquire();
    trace.setGlobalTracerProvider(tracers);
    metrics.setGlobalMeterProvider(meters);
    await client.getLock(`${name}:2`).withLock(() => undefined);
    expect(spans('lock hold')).to.have.lengthOf(1);
    expect(await total('ioredisson.lock.held')).to.equal(1);
    await hold.unlock();
    expect(await total('ioredisson.lock.held')).to.equal(0);
  });

  it('works twice, and for several clients', async () => {
    instrument();
    instrument();
    await client.getLock(name).withLock(() => undefined);
    await newClient()
      .getLock(name)
      .withLock(() => undefined);
    expect(spans('lock acquire')).to.have.lengthOf(4);
    expect(new Set(spans('lock hold').map(({ attributes }) => attributes['ioredisson.client.id'])).size).to.equal(2);
  });

  it('ends every span of 2000 holds that contend, are aborted, time out and get lost', async function () {
    // Work for seconds, and the machine may be busy.
    this.timeout(120_000);
    let begun = 0;
    tracers = new BasicTracerProvider({
      spanProcessors: [
        {
          onStart: () => void begun++,
          onEnd: (span) => exporter.export([span], () => undefined),
          forceFlush: async () => undefined,
          shutdown: async () => undefined,
        },
      ],
    });
    instrument();
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const lock = client.getLock(`${name}:${i % 10}`);
        for (let round = 0; round < 20; round++) {
          const signal = (i + round) % 7 === 0 ? AbortSignal.timeout(1 + (i % 5)) : new AbortController().signal;
          const hold = await lock
            .acquire({ signal, waitTime: (i + round) % 5 === 0 ? 3 : 60_000 })
            .catch(() => undefined);
          if (round === 10 && i % 10 === 0) await lock.forceUnlock();
          await hold?.unlock().catch(() => undefined);
        }
      }),
    );
    expect(begun).to.be.greaterThan(2_000);
    expect(exporter.getFinishedSpans()).to.have.lengthOf(begun);
    expect(await total('ioredisson.lock.acquisitions')).to.equal(2_000);
    expect(await total('ioredisson.lock.held')).to.equal(0);
    expect(await total('ioredisson.lock.waiters')).to.equal(0);
  });
});
