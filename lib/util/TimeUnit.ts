/** Names of the units, as in `java.util.concurrent.TimeUnit`. */
export type TimeUnitName = 'NANOSECONDS' | 'MICROSECONDS' | 'MILLISECONDS' | 'SECONDS' | 'MINUTES' | 'HOURS' | 'DAYS';

/**
 * The unit of a duration argument: `lock.tryLock(10, 30, TimeUnit.SECONDS)`.
 *
 * The seven instances below are the only ones, so that a `unit` argument can be checked at run time and compared
 * with `===`. Conversions keep fractions (`MILLISECONDS.toSeconds(1500)` is 1.5), where Java truncates.
 *
 * Source: `java.util.concurrent.TimeUnit`.
 */
export class TimeUnit {
  /** A billionth of a second. */
  static readonly NANOSECONDS: TimeUnit = new TimeUnit('NANOSECONDS', 1);
  /** A millionth of a second. */
  static readonly MICROSECONDS: TimeUnit = new TimeUnit('MICROSECONDS', 1e3);
  /** A thousandth of a second: the unit where none is given. */
  static readonly MILLISECONDS: TimeUnit = new TimeUnit('MILLISECONDS', 1e6);
  /** One second. */
  static readonly SECONDS: TimeUnit = new TimeUnit('SECONDS', 1e9);
  /** 60 seconds. */
  static readonly MINUTES: TimeUnit = new TimeUnit('MINUTES', 60e9);
  /** 60 minutes. */
  static readonly HOURS: TimeUnit = new TimeUnit('HOURS', 3600e9);
  /** 24 hours. */
  static readonly DAYS: TimeUnit = new TimeUnit('DAYS', 86400e9);

  /** The name of the constant, e.g. `SECONDS`. */
  readonly name: TimeUnitName;
  readonly #nanos: number;

  private constructor(name: TimeUnitName, nanos: number) {
    this.name = name;
    this.#nanos = nanos;
    Object.freeze(this);
  }

  static {
    Object.freeze(this);
  }

  /**
   * A duration of another unit, in this one.
   *
   * @param duration - the number of `source` units
   * @param source - the unit of `duration`
   * @returns the number of units of this one, with fractions
   */
  convert(duration: number, source: TimeUnit): number {
    // Only whole factors, so that 0.3 s is 300 ms and not 300.00000000000006.
    return source.#nanos >= this.#nanos
      ? duration * (source.#nanos / this.#nanos)
      : duration / (this.#nanos / source.#nanos);
  }

  /** @returns `duration` of this unit in nanoseconds */
  toNanos(duration: number): number {
    return TimeUnit.NANOSECONDS.convert(duration, this);
  }

  /** @returns `duration` of this unit in microseconds */
  toMicros(duration: number): number {
    return TimeUnit.MICROSECONDS.convert(duration, this);
  }

  /** @returns `duration` of this unit in milliseconds, with fractions */
  toMillis(duration: number): number {
    return TimeUnit.MILLISECONDS.convert(duration, this);
  }

  /** @returns `duration` of this unit in seconds */
  toSeconds(duration: number): number {
    return TimeUnit.SECONDS.convert(duration, this);
  }

  /** @returns `duration` of this unit in minutes */
  toMinutes(duration: number): number {
    return TimeUnit.MINUTES.convert(duration, this);
  }

  /** @returns `duration` of this unit in hours */
  toHours(duration: number): number {
    return TimeUnit.HOURS.convert(duration, this);
  }

  /** @returns `duration` of this unit in days */
  toDays(duration: number): number {
    return TimeUnit.DAYS.convert(duration, this);
  }

  /** @returns the name of the constant */
  toString(): string {
    return this.name;
  }
}
