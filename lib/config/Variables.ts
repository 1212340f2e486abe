import { ConfigError } from '../errors/ConfigError';

// From the private use area: allowed in YAML everywhere, meaningless there, and in nobody's configuration.
const OPEN = '\uE0F0';
const CLOSE = '\uE0F1';

const VARIABLE = /\$\{([\w.]+)(?::-([^}]*))?\}/g;
const MARK = /\uE0F0(\d+)\uE0F1/g;
const WHOLE = /^\uE0F0\d+\uE0F1$/;

/**
 * The variables of a text, `${NAME}` and `${NAME:-default}`.
 *
 * They are filled in after the text has been parsed: what the environment says is then always data, and a password with
 * a `#` or a quote in it cannot break, or change, the document.
 */
export class Variables {
  readonly #found: { readonly name: string; readonly fallback: string | undefined }[] = [];
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
   * @returns the text, and in words where it comes from, where that is the environment and not a default
   * @throws ConfigError when a variable is not set and has no default
   */
  fill(text: string, key: string): { readonly value: string; readonly from: string | undefined } {
    const used = new Set<string>();
    const value = text.replace(MARK, (_, index: string) => {
      const variable = this.#found[Number(index)];
      if (variable === undefined) return '';
      const set = this.#environment[variable.name];
      if (set !== undefined && set !== '') used.add(`\${${variable.name}}`);
      if (variable.fallback !== undefined) return set === undefined || set === '' ? variable.fallback : set;
      if (set !== undefined) return set;
      throw new ConfigError(
        `${key}: the environment variable ${variable.name} is not set; set it, or give a default: \${${variable.name}:-default}`,
      );
    });
    if (used.size === 0) return { value, from: undefined };
    const names = [...used].join(' and ');
    return { value, from: WHOLE.test(text) ? `the value of ${names}` : `a value with ${names} in it` };
  }
}
