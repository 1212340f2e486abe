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
   * What spans and metrics show of the name of a lock; `undefined`: nothing. It should give few values, since each one is
   * a time series of its own.
   * @default spans show the name as it is, metrics do not show it
   */
  nameOf?: (name: string) => string | undefined;
}

/** The name of the instrumentation, of its tracer and of its meter. */
const NAME = 'ioredisson';
/**
 * OpenTelemetry for all locks and synchronizers of this process, of every client:
 * `registerInstrumentations({ instrumentations: [new RedissonInstrumentation()] })`.
 *
 * It listens to the diagnostics channels of the package and patches nothing, so it may be made before or after ioredisson
 * is loaded. What was under way when it is enabled is not told; what is under way when it is disabled ends then.
 *
 * Spans: `lock acquire`, the parent of the commands that the acquisition sends, and `lock hold`; both are children of the
 * caller's span. Metrics: see docs/observability.md.
 *
 * It extends the base class since `registerInstrumentations` and the auto-instrumentations expect all that the base class
 * has, which differs between its versions.
 */
export class RedissonInstrumentation extends InstrumentationBase<RedissonInstrumentationConfig> {
  // Without initializers: the base class calls `enable` before they would run.
  declare private telemetry: LockTelemetry | undefined;
  declare private stopFollowing: (() => void) | undefined;
  /** Whether a meter provider was set that is not the global one. */
  declare private hasOwnMeters: boolean | undefined;
  /** The global meter provider as it was last seen, and its meter: it may be set after this was made. */
  declare private globalMeters: { readonly provider: MeterProvider; readonly meter: Meter } | undefined;

  /** Enabled at once, unless `enabled` is `false`. */
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
