import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Document, Scalar } from 'yaml';
import { ConfigError } from '../../errors/usageErrors';
import { MAY_HOLD_A_SECRET, describe } from '../../util/describe';
import { Filled } from './Filled';
import type { TextForm } from './schema';
import { formOf } from './sections';
import { yamlLibrary } from './yamlLibrary';

/** The result of {@link readDocument}. */
export interface ReadDocument {
  /** Values from the environment are {@link Filled}, whatever the setting, since many are secrets. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Keys that came from the environment, and the text that errors show instead. */
  readonly filledKeys: ReadonlyMap<string, string>;
}

/**
 * Reads a YAML or JSON configuration (JSON is YAML) into plain objects.
 *
 * - Variables of the environment are filled in, except in ignored settings, whose values are not needed.
 * - A Java object, `!<org.redisson.X> {a: 1}`, becomes `{ class: 'org.redisson.X', a: 1 }`, as in JSON.
 * - Text settings stay text (`password: 0123`), and numbers and flags may be quoted, as in Redisson's reader.
 *
 * @param textOrPath - the text itself, or the path or `file:` URL of a file
 * @throws ConfigError if it cannot be read; never shows the text, which may contain passwords
 */
export function readDocument(textOrPath: string | URL): ReadDocument {
  const { isMap, isPair, LineCounter, parseDocument, visit } = yamlLibrary();
  const { text, source } = load(textOrPath);
  const variables = new Variables(process.env);
  const filledKeys = new Map<string, string>();
  const lines = new LineCounter();
  const document = parseDocument(variables.mark(text), {
    prettyErrors: false,
    logLevel: 'silent',
    merge: true,
    lineCounter: lines,
    // Of equal keys the last one counts, as in Java.
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ConfigError(`${source} is not valid YAML or JSON: ${error.code} in line ${line}, column ${col}`);
  }
  if (!isMap(document.contents)) throw new ConfigError(`${source} must hold settings, like singleServerConfig:`);
  visit(document, {
    Map: (_, node) => {
      const className = javaClass(node.tag);
      if (className === undefined) return;
      node.set('class', className);
      delete node.tag;
    },
    Scalar: (position, node, path) => {
      if (position === 'key') {
        if (typeof node.value === 'string' && variables.isMarked(node.value)) {
          const { value, from } = variables.fill(node.value, 'A key');
          node.value = value;
          if (from !== undefined) filledKeys.set(value, from);
        }
        return undefined;
      }
      const className = javaClass(node.tag);
      if (className !== undefined) return document.createNode({ class: className });
      const owner = ownerOf(path);
      if (owner !== undefined) node.value = scalarValue(node, owner, isPair(path.at(-1)), variables);
      return undefined;
    },
  });
  return { content: toPlain(document, source), filledKeys };
}

/** @throws ConfigError if an alias or a merge (`<<`) cannot be resolved; the library notices only now */
function toPlain(document: Document, source: string): Record<string, unknown> {
  try {
    return document.toJS() as Record<string, unknown>;
  } catch {
    // The library's message may quote the document, which may contain passwords.
    throw new ConfigError(
      `${source} is not valid YAML or JSON: an alias (*name) or a merge (<<) that cannot be resolved, or too many of them`,
    );
  }
}

function load(textOrPath: string | URL): { readonly text: string; readonly source: string } {
  // JSON may have no space after a colon, and be cut off.
  const isText = typeof textOrPath === 'string' && /\n|:\s|:$|^\s*\{.*\}\s*$|^\s*[{[].*[":]/.test(textOrPath);
  if (isText) return { text: textOrPath, source: 'The configuration' };
  if (textOrPath === '' || !(typeof textOrPath === 'string' || textOrPath instanceof URL)) {
    throw new ConfigError('A configuration is the text itself or the path of a file');
  }
  const isUrl = textOrPath instanceof URL || textOrPath.startsWith('file://');
  try {
    return {
      text: readFileSync(isUrl ? fileURLToPath(textOrPath) : textOrPath, 'utf8'),
      source: shownPath(textOrPath),
    };
  } catch (error) {
    const { code = 'it is no path' } = error as NodeJS.ErrnoException;
    const path = shownPath(textOrPath);
    // The error's message contains the path, which may in fact be an address with a password.
    const options = path.startsWith("'") ? { cause: error } : undefined;
    throw new ConfigError(`The configuration ${path} cannot be read: ${code}`, options);
  }
}

/** What has `:` (not that of `C:\\redisson.yaml`) or `=` is seldom a path; rather a setting, and perhaps a password. */
function shownPath(path: string | URL): string {
  const text = String(path);
  if (text.startsWith('file:') && !text.includes('@')) return `'${text}'`;
  return /^(?:[A-Za-z]:)?[^:=]*$/.test(text) ? describe(text) : MAY_HOLD_A_SECRET;
}

interface Owner {
  readonly key: string;
  readonly form: TextForm;
}

/** The innermost known setting that contains a value: entries of `hostsMap` belong to their `natMapper`. */
function ownerOf(path: readonly unknown[]): Owner | undefined {
  const { isPair, isScalar } = yamlLibrary();
  for (const pair of path.toReversed()) {
    if (!isPair(pair) || !isScalar(pair.key)) continue;
    const key = String(pair.key.value);
    const form = formOf(key);
    if (form !== undefined) return { key, form };
  }
  return undefined;
}

function scalarValue(node: Scalar, owner: Owner, isWhole: boolean, variables: Variables): unknown {
  const { value: raw } = node;
  if (typeof raw !== 'string') {
    // If the setting is text, a value that YAML has read as a number or a flag, such as a password of digits, stays
    // text.
    const isText = owner.form === 'text' || owner.form === 'list';
    return isText && raw !== null ? (node.source ?? raw) : raw;
  }
  if (!variables.isMarked(raw)) return textValue(raw, owner, false);
  const { value, from } = variables.fill(raw, owner.key);
  const read = textValue(value, owner, isWhole);
  return from === undefined || read === null ? read : new Filled(read, from);
}

/** @param isVariable - whether it is the whole value of a setting, and contains a variable */
function textValue(value: string, { key, form }: Owner, isVariable: boolean): unknown {
  if (form === 'integer' && /^[+-]?\d[\d_]*$/.test(value)) return Number(value.replaceAll('_', ''));
  if (form === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (form === 'list' && isVariable && value.startsWith('[')) return parseList(value, key);
  // `timeout: ${T:-}` is a setting without a value.
  return isVariable && value === '' ? null : value;
}

/** A list from a variable: `nodeAddresses: ${NODES}`. */
function parseList(value: string, key: string): unknown {
  try {
    return yamlLibrary().parse(value, { prettyErrors: false });
  } catch {
    throw new ConfigError(`${key}: the environment variable does not hold a list like ["redis://host:6379"]`);
  }
}

/** The Java class in the tag of a value; `undefined` for YAML's own tags. */
function javaClass(tag: string | undefined): string | undefined {
  return tag === undefined || tag.startsWith('tag:yaml.org,') ? undefined : tag.replace(/^!/, '');
}

// From the private use area: allowed everywhere in YAML, without a meaning there, and not used in configurations.
const OPEN = '\uE0F0';
const CLOSE = '\uE0F1';

const VARIABLE = /\$\{([\w.]+)(?::-([^}]*))?\}/g;
const MARK = /\uE0F0(\d+)\uE0F1/g;
const WHOLE = /^\uE0F0\d+\uE0F1$/;

/**
 * The variables of a text, `${NAME}` and `${NAME:-default}`.
 *
 * They are filled in after the text has been parsed. So their values are always data: a password that contains a `#` or
 * a quote can neither break nor change the document.
 */
export class Variables {
  readonly #found: { readonly name: string; readonly fallback: string | undefined }[] = [];
  readonly #environment: NodeJS.ProcessEnv;

  /** @param environment - where the values are; normally `process.env` */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /**
   * @param text - the text with variables
   * @returns the text with a mark in place of each variable; every parser reads a mark as part of a word
   */
  mark(text: string): string {
    return text.replace(VARIABLE, (_, name: string, fallback: string | undefined) => {
      this.#found.push({ name, fallback });
      return `${OPEN}${this.#found.length - 1}${CLOSE}`;
    });
  }

  /**
   * @param text - a marked text
   * @returns whether it contains a mark
   */
  isMarked(text: string): boolean {
    return text.includes(OPEN);
  }

  /**
   * Fills in the values. A default counts if the variable is unset or empty, as in a shell.
   *
   * @param text - a marked text
   * @param key - the setting, for the error
   * @returns the text, and a description of its source if that is the environment and not a default
   * @throws ConfigError if a variable is not set and has no default
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
