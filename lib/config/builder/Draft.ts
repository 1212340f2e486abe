import { ConfigError } from '../../errors/usageErrors';
import type { Hidden } from '../parse/Filled';
import { MAY_HOLD_A_SECRET, suggestion } from '../../util/describe';
import type { Schema, Values } from '../parse/schema';
import type { SectionName, SECTIONS } from '../parse/sections';

/** The draft of a section. */
export type SectionDraft = Draft<(typeof SECTIONS)[SectionName], SectionName>;

/** The name of the setter of a setting: `setTimeout`. */
export function setterOf(key: string): string {
  return `set${key.charAt(0).toUpperCase()}${key.slice(1)}`;
}

/**
 * A configuration that is being built: it takes settings one by one, checks each at once, and keeps the checked values.
 * Config gives it the setters of all ways to find the servers, made of the settings of the sections. Callers see only
 * the interface of their way; the schema of the section refuses settings that do not belong there.
 *
 * Invariant: every value in `values` has passed its parser.
 */
export class Draft<S extends Schema, Section extends string = string> {
  readonly #schema: S;
  readonly #ignored: ReadonlySet<string>;
  /** For messages, e.g. `singleServerConfig`; empty for the common settings. */
  readonly section: Section;
  readonly #alsoKnown: readonly string[];
  readonly #values = new Map<string, unknown>();
  readonly #lists = new Map<string, readonly unknown[]>();
  /** The settings given that have no effect here, for the warning. */
  readonly ignoredKeys: string[] = [];

  /**
   * @param schema - the known settings
   * @param ignored - the settings to accept without effect
   * @param alsoKnown - names handled elsewhere, which may be suggested for a mistyped one
   */
  constructor(schema: S, ignored: ReadonlySet<string>, section: Section, alsoKnown: readonly string[] = []) {
    this.#schema = schema;
    this.#ignored = ignored;
    this.section = section;
    this.#alsoKnown = alsoKnown;
  }

  /** Adds to a setting that is a list; otherwise as {@link set}. */
  add(key: string, more: readonly unknown[]): this {
    return this.set(key, [...(this.#lists.get(key) ?? []), ...more]);
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
   * @throws ConfigError if there is no such setting (it suggests what was probably meant), or if the value does not fit
   */
  set(key: string, value: unknown, hidden?: Hidden): this {
    const parser = Object.hasOwn(this.#schema, key) ? this.#schema[key] : undefined;
    if (parser === undefined) {
      if (!this.#ignored.has(key)) throw this.#unknown(key, hidden?.(key));
      if (value !== undefined && value !== null) this.ignoredKeys.push(this.#path(key));
      return this;
    }
    const parsed = value === undefined || value === null ? undefined : parser.parse(value, this.#path(key), hidden);
    if (parsed === undefined) this.#values.delete(key);
    else this.#values.set(key, parsed);
    if (Array.isArray(value)) this.#lists.set(key, value as unknown[]);
    return this;
  }

  #path(key: string): string {
    return this.section === '' ? key : `${this.section}.${key}`;
  }

  #unknown(key: string, from: string | undefined): ConfigError {
    if (from !== undefined) return new ConfigError(`Unknown setting '${this.#path(`<${from}>`)}'`);
    // Without a space after its colon, or a quote, YAML takes a setting and its value for a name.
    if (/[^\w.$-]/.test(key)) return new ConfigError(`Unknown setting: ${MAY_HOLD_A_SECRET}`);
    // A name of Redisson's that is refused is not suggested.
    const names = Object.keys(this.#schema).filter((name) => name !== 'credentialsResolver');
    const known = [...names, ...this.#alsoKnown, ...this.#ignored];
    return new ConfigError(`Unknown setting '${this.#path(key)}'${suggestion(key, known, '', this.#path(''))}`);
  }
}
