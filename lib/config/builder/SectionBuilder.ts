import { IGNORED_SECTION_KEYS } from '../parse/ignoredKeys';
import type { Hidden } from '../parse/Filled';
import { SECTIONS, type SectionName, type SectionValues } from '../parse/schema';
import { Draft } from './Draft';
import type {
  ClusterServersConfig,
  MasterSlaveServersConfig,
  ReplicatedServersConfig,
  SentinelServersConfig,
  SingleServerConfig,
} from './serverConfigs';

/** The setters of all ways to find the servers. */
type Setters = SingleServerConfig &
  SentinelServersConfig &
  ClusterServersConfig &
  MasterSlaveServersConfig &
  ReplicatedServersConfig;

type Key = { [N in SectionName]: keyof (typeof SECTIONS)[N] }[SectionName];

/** The setter of a setting: `setTimeout`, but `addNodeAddress` for `nodeAddresses`. */
type SetterOf<K extends Key> = K extends `${infer List}Addresses`
  ? `add${Capitalize<List>}Address`
  : `set${Capitalize<K>}`;

/** A builder with the setters that its class has at run time; one without a setting does not compile. */
export type SectionSetters = SectionBuilder & Pick<Setters, SetterOf<Key> & keyof Setters>;

/**
 * The one class behind the builders of all ways to find the servers. Its setters are made of the settings of the
 * sections. Callers see only the interface of their way; the schema of the section refuses settings that do not belong
 * there.
 */
export class SectionBuilder {
  /** The section this builds. */
  readonly section: SectionName;
  readonly #draft: Draft<(typeof SECTIONS)[SectionName]>;
  readonly #lists = new Map<string, unknown[]>();

  static {
    for (const key of new Set(Object.values(SECTIONS).flatMap((schema) => Object.keys(schema)))) {
      const name = key.charAt(0).toUpperCase() + key.slice(1);
      const setter = key.endsWith('Addresses')
        ? {
            [`add${name.slice(0, -2)}`](this: SectionBuilder, ...more: readonly unknown[]): SectionBuilder {
              return this.set(key, [...(this.#lists.get(key) ?? []), ...more]);
            },
          }
        : {
            [`set${name}`](this: SectionBuilder, value: unknown): SectionBuilder {
              return this.set(key, value);
            },
          };
      Object.assign(this.prototype, setter);
    }
  }

  /** @param section - the section to build */
  constructor(section: SectionName) {
    this.section = section;
    this.#draft = new Draft(SECTIONS[section], IGNORED_SECTION_KEYS, section);
  }

  /** The checked values. */
  get values(): SectionValues {
    return this.#draft.values;
  }

  /** The settings given that have no effect here. */
  get ignoredKeys(): readonly string[] {
    return this.#draft.ignoredKeys;
  }

  /**
   * Sets a setting by its name, as from a file.
   *
   * @param key - its name
   * @param value - its value
   * @param hidden - which values errors must not show
   * @throws ConfigError if there is no such setting or the value does not fit
   */
  set(key: string, value: unknown, hidden?: Hidden): this {
    this.#draft.set(key, value, hidden);
    if (Array.isArray(value)) this.#lists.set(key, [...(value as unknown[])]);
    return this;
  }
}
