import { ConfigError } from '../../errors/usageErrors';
import type { Hidden } from '../parse/Filled';
import { MAY_HOLD_A_SECRET, nearest } from '../../util/describe';
import type { Schema, Values } from '../parse/schema';

/**
 * A configuration that is being built: it takes settings one by one, checks each at once, and keeps the checked values.
 *
 * Invariant: every value in `values` has passed its parser.
 */
export class Draft<S extends Schema> {
  readonly #schema: S;
  readonly #ignored: ReadonlySet<string>;
  readonly #where: string;
  readonly #alsoKnown: readonly string[];
  readonly #values = new Map<string, unknown>();
  readonly #ignoredKeys: string[] = [];

  /**
   * @param schema - the known settings
   * @param ignored - the settings to accept without effect
   * @param where - the section for messages, e.g. `singleServerConfig`; empty for the common settings
   * @param alsoKnown - names handled elsewhere, which may be suggested for a mistyped one
   */
  constructor(schema: S, ignored: ReadonlySet<string>, where = '', alsoKnown: readonly string[] = []) {
    this.#schema = schema;
    this.#ignored = ignored;
    this.#where = where;
    this.#alsoKnown = alsoKnown;
  }

  /** The settings given that have no effect here, for the warning. */
  get ignoredKeys(): readonly string[] {
    return this.#ignoredKeys;
  }

  /** The checked values. */
  get values(): Values<S> {
    return Object.freeze(Object.fromEntries(this.#values)) as Values<S>;
  }

  /**
   * Takes one setting; `undefined` and `null` mean "not given" (files of the Java client are full of `password: null`).
   *
   * @param key - its name
   * @param value - its value
   * @param hidden - which values errors must not show
   * @throws ConfigError if there is no such setting (it suggests the nearest one), or if the value does not fit
   */
  set(key: string, value: unknown, hidden?: Hidden): void {
    const parser = Object.hasOwn(this.#schema, key) ? this.#schema[key] : undefined;
    if (parser === undefined) {
      if (!this.#ignored.has(key)) throw this.#unknown(key, hidden?.(key));
      if (value !== undefined && value !== null) this.#ignoredKeys.push(this.#path(key));
      return;
    }
    const parsed = value === undefined || value === null ? undefined : parser.parse(value, this.#path(key), hidden);
    if (parsed === undefined) this.#values.delete(key);
    else this.#values.set(key, parsed);
  }

  #path(key: string): string {
    return this.#where === '' ? key : `${this.#where}.${key}`;
  }

  #unknown(key: string, from: string | undefined): ConfigError {
    if (from !== undefined) return new ConfigError(`Unknown setting '${this.#path(`<${from}>`)}'`);
    // Without a space after its colon, or a quote, YAML takes a setting and its value for a name.
    if (/[^\w.$-]/.test(key)) return new ConfigError(`Unknown setting: ${MAY_HOLD_A_SECRET}`);
    // A word of Redisson's that is refused is no advice.
    const names = Object.keys(this.#schema).filter((name) => name !== 'credentialsResolver');
    const known = nearest(key, [...names, ...this.#alsoKnown, ...this.#ignored]);
    return new ConfigError(
      `Unknown setting '${this.#path(key)}'` + (known === undefined ? '' : `; did you mean '${this.#path(known)}'?`),
    );
  }
}
