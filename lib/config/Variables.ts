import { ConfigError } from '../errors/ConfigError';

// From the private use area: allowed in YAML everywhere, meaningless there, and in nobody's configuration.
const OPEN = '\uE0F0';
const CLOSE = '\uE0F1';

const VARIABLE = /\$\{([\w.]+)(?::-([^}]*))?\}/g;
const MARK = /\uE0F0(\d+)\uE0F1/g;

/**
 * The variables of a text, `${NAME}` and `${NAME:-default}`.
 *
 * They are filled in after the text has been parsed: what the environment says is then always data, and a password with
 * a `#` or a quote in it cannot break, or change, the document.
 */
export class Variables {
  readonly #found: { readonly name: string; readonly fallback: string | undefined }[] = [];
  /** The values that came from the environment. */
  readonly filledIn = new Set<string>();
  readonly #environment: Readonly<Record<string, string | undefined>>;

  /** @param environment - where the values are; normally `process.env` */
  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#environment = environment;
  }

  /**
   * @param text - the text with variables
   * @returns the text with a mark in place of each, which no parser takes for anything but a piece of a word
   */
  mark(text: string): string {
    return text.replace(VARIABLE, (_, name: string, fallback: string | undefined) => {
      this.#found.push({ name, fallback });
      return `${OPEN}${this.#found.length - 1}${CLOSE}`;
    });
  }

  /**
   * @param text - a marked text
   * @returns whether there is a mark in it
   */
  isMarked(text: string): boolean {
    return text.includes(OPEN);
  }

  /**
   * Fills in the values. A default counts where the variable is unset or empty, as in a shell.
   *
   * @param text - a marked text
   * @param key - the setting, for the error
   * @throws ConfigError when a variable is not set and has no default
   */
  fill(text: string, key: string): string {
    return text.replace(MARK, (_, index: string) => {
      const variable = this.#found[Number(index)];
      if (variable === undefined) return '';
      const value = this.#environment[variable.name];
      if (value !== undefined && value !== '') this.filledIn.add(value);
      if (variable.fallback !== undefined) return value === undefined || value === '' ? variable.fallback : value;
      if (value !== undefined) return value;
      throw new ConfigError(
        `${key}: the environment variable ${variable.name} is not set; set it, or give a default: \${${variable.name}:-default}`,
      );
    });
  }
}
