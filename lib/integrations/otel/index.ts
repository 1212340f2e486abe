/**
 * Spans and metrics of locks for OpenTelemetry.
 * @module ioredisson/otel
 */

import { type Meter, type MeterProvider, metrics } from '@opentelemetry/api';
import { InstrumentationBase, type InstrumentationConfig } from '@opentelemetry/instrumentation';
import { needPeer } from '../frameworks/needPeer';
import { VERSION } from '../../util/version';
import { LockTelemetry } from './LockTelemetry';

needPeer('ioredisson/otel', '@opentelemetry/api', '1.9');
needPeer('ioredisson/otel', '@opentelemetry/instrumentation', '0.200');

/** Options of {@link RedissonInstrumentation}. */
export interface RedissonInstrumentationConfig extends InstrumentationConfig {
  /**
   * Returns what spans and metrics show as the name of a lock; `undefined`: nothing. It should return few different
   * values, since each one is a time series of its own.
   * @default spans show the name unchanged, metrics do not show it
   */
  nameOf?: (name: string) => string | undefined;
  /**
   * Patterns of names, in the syntax of SCAN: `leader:*`. Long waits for these are no trouble, so that they do not
   * count in `ioredisson.lock.oldest_wait`.
   * @default none
   */
  expectedWaits?: readonly string[];
}

/** The name of the instrumentation, of its tracer and of its meter. */
const NAME = 'ioredisson';
/**
 * OpenTelemetry for all locks and synchronizers of this process, of every client:
 * `registerInstrumentations({ instrumentations: [new RedissonInstrumentation()] })`.
 *
 * It listens to the diagnostics channels of the package and patches nothing, so it may be created before or after
 * ioredisson is loaded. Acquisitions and holds that began before it was enabled are not reported; those that are
 * under way when it is disabled end then.
 *
 * Spans: `lock acquire`, the parent of the commands that the acquisition sends, and `lock hold`; both are children of
 * the caller's span. Metrics: see docs/observability.md.
 *
 * It extends the base class because `registerInstrumentations` and the auto-instrumentations expect all members of
 * the base class, which differ between its versions.
 */
export class RedissonInstrumentation extends InstrumentationBase<RedissonInstrumentationConfig> {
  // Without initializers: the base class calls `enable` before they would run.
  declare private telemetry: LockTelemetry | undefined;
  declare private stopFollowing: (() => void) | undefined;
  /** Whether a meter provider was set that is not the global one. */
  declare private hasOwnMeters: boolean | undefined;
  /** The global meter provider last seen, and its meter. The provider may be set after this object is created. */
  declare private globalMeters: { readonly provider: MeterProvider; readonly meter: Meter } | undefined;

  /** Enables itself at once, unless `enabled` is `false`. */
  constructor(config: RedissonInstrumentationConfig = {}) {
    super(NAME, VERSION, config);
  }

  /** Nothing is patched. */
  protected override init(): undefined {
    return undefined;
  }

  override enable(): void {
    super.enable();
    this.telemetry ??= new LockTelemetry({
      tracer: () => this.tracer,
      meter: () => this.currentMeter(),
      nameOf: () => this.getConfig().nameOf,
      expectedWaits: () => this.getConfig().expectedWaits,
    });
    this.stopFollowing ??= this.telemetry.follow();
  }

  override disable(): void {
    super.disable();
    this.stopFollowing?.();
    this.stopFollowing = undefined;
  }

  override setMeterProvider(provider: MeterProvider): void {
    this.hasOwnMeters = provider !== metrics.getMeterProvider();
    super.setMeterProvider(provider);
  }

  private currentMeter(): Meter {
    if (this.hasOwnMeters === true) return this.meter;
    const provider = metrics.getMeterProvider();
    if (this.globalMeters?.provider !== provider) {
      this.globalMeters = { provider, meter: provider.getMeter(NAME, VERSION) };
    }
    return this.globalMeters.meter;
  }
}
