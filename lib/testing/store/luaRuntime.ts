/*
 * Lua's values as JavaScript's: nil = undefined, a string of bytes = a string of code units below 256. A function
 * returns one value, or a {@link Multi} where it returns another number of them.
 */

/** What a Lua variable may hold. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;
/** A function of Lua. */
export type LuaFunction = (...args: LuaValue[]) => LuaValue | Multi;

/** The values of a call that returns none, or more than one. */
export class Multi {
  constructor(readonly values: readonly LuaValue[]) {}
}

/** A table: the values of the keys 1, 2, 3 ... are in an array. */
export class LuaTable {
  readonly list: LuaValue[] = [];
  readonly #fields = new Map<LuaValue, LuaValue>();

  static of(list: readonly LuaValue[]): LuaTable {
    const table = new LuaTable();
    for (const value of list) table.list.push(value);
    return table;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.list.length) return this.list[key - 1];
    return this.#fields.get(key);
  }

  set(key: LuaValue, value: LuaValue): void {
    const { list } = this;
    if (typeof key !== 'number' || key < 1 || key > list.length + 1) {
      if (value === undefined) this.#fields.delete(key);
      else this.#fields.set(key, value);
    } else if (value !== undefined) {
      list[key - 1] = value;
      if (key === list.length && this.#fields.size > 0) this.#pull();
    } else if (key === list.length) {
      list.length--;
    } else if (key <= list.length) {
      throw new LuaError('the store in memory knows no table with holes');
    }
  }

  /** Values that were set beyond the end of the array. */
  #pull(): void {
    for (let next = this.list.length + 1; this.#fields.has(next); next++) {
      this.list.push(this.#fields.get(next));
      this.#fields.delete(next);
    }
  }
}

/** An error that a script raises. */
export class LuaError extends Error {
  /** @param reply - whether the message is one of Redis, and not of Lua */
  constructor(
    message: string,
    readonly reply = false,
  ) {
    super(message);
  }
}

/** C's `%.<digits>g`. */
export function formatG(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return String(value === 0 ? 0 : value);
  if (value === Infinity) return 'inf';
  if (value === -Infinity) return '-inf';
  if (Number.isNaN(value)) return 'nan';
  const [mantissa = '', exponent = '0'] = value.toExponential(digits - 1).split('e');
  const power = Number(exponent);
  const plain = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (power >= -4 && power < digits) return plain(value.toFixed(Math.max(0, digits - 1 - power)));
  const sign = power < 0 ? '-' : '+';
  return `${plain(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** As `tonumber` reads text. */
export function toNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) || /^0x[\da-f]+$/i.test(text)) return Number(text);
  if (/^[-+]?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return undefined;
}

const patterns = new Map<string, RegExp>();
/**
 * The parts of Lua's patterns that the scripts use exist in regular expressions as well. These are written
 * differently ...
 */
const ESCAPED = /%([d\W])|([{}|/\\])/g;
/**
 * ... and these have another meaning there: classes but `%d`, `-` for "as few as possible", `^` and `$` inside a
 * pattern.
 */
const UNKNOWN = /%[^d\W]|[^(^]-|[^[]\^|\$./s;

/** A pattern of Lua as a regular expression. */
function pattern(text: string): RegExp {
  let found = patterns.get(text);
  if (found === undefined) {
    if (UNKNOWN.test(text)) throw new LuaError(`the store in memory does not know the pattern ${text}`);
    patterns.set(text, (found = new RegExp(text.replace(ESCAPED, '\\$1$2'), 's')));
  }
  return found;
}

function textOf(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatG(value, 14);
  throw new LuaError(`string expected, got ${typeName(value)}`);
}

/** The number in an operand of arithmetic. */
export function operand(value: LuaValue): number {
  const number = toNumber(value);
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeName(value)} value`);
  return number;
}

/** As `type()` names it. */
export function typeName(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (value instanceof LuaTable) return 'table';
  return typeof value;
}

function tableOf(value: LuaValue): LuaTable {
  if (value instanceof LuaTable) return value;
  throw new LuaError(`attempt to index a ${typeName(value)} value`);
}

/** Both operands of a comparison: two numbers, or two strings. */
function comparable(a: LuaValue, b: LuaValue): readonly [number, number] | readonly [string, string] {
  if (typeof a === 'number' && typeof b === 'number') return [a, b];
  if (typeof a === 'string' && typeof b === 'string') return [a, b];
  throw new LuaError(`attempt to compare ${typeName(a)} with ${typeName(b)}`);
}

/** What compiled scripts call. */
export const operators = {
  one: (value: LuaValue | Multi): LuaValue => (value instanceof Multi ? value.values[0] : value),
  all: (value: LuaValue | Multi): readonly LuaValue[] => (value instanceof Multi ? value.values : [value]),
  returned: (values: readonly LuaValue[]): LuaValue | Multi => (values.length === 1 ? values[0] : new Multi(values)),
  truth: (value: LuaValue): boolean => value !== undefined && value !== false,
  index: (table: LuaValue, key: LuaValue): LuaValue => tableOf(table).get(key),
  assign: (table: LuaValue, key: LuaValue, value: LuaValue): void => tableOf(table).set(key, value),
  call(fn: LuaValue, ...args: LuaValue[]): LuaValue | Multi {
    if (typeof fn !== 'function') throw new LuaError(`attempt to call a ${typeName(fn)} value`);
    return fn(...args);
  },
  add: (a: LuaValue, b: LuaValue): number => operand(a) + operand(b),
  sub: (a: LuaValue, b: LuaValue): number => operand(a) - operand(b),
  mul: (a: LuaValue, b: LuaValue): number => operand(a) * operand(b),
  div: (a: LuaValue, b: LuaValue): number => operand(a) / operand(b),
  mod(a: LuaValue, b: LuaValue): number {
    const [x, y] = [operand(a), operand(b)];
    return x - Math.floor(x / y) * y;
  },
  neg: (a: LuaValue): number => -operand(a),
  concat: (a: LuaValue, b: LuaValue): string => textOf(a) + textOf(b),
  less(a: LuaValue, b: LuaValue): boolean {
    const [x, y] = comparable(a, b);
    return x < y;
  },
  lessEqual(a: LuaValue, b: LuaValue): boolean {
    const [x, y] = comparable(a, b);
    return x <= y;
  },
  length(value: LuaValue): number {
    if (typeof value === 'string') return value.length;
    if (value instanceof LuaTable) return value.list.length;
    throw new LuaError(`attempt to get length of a ${typeName(value)} value`);
  },
  /** `{a, b, name = c}`. */
  table(list: readonly LuaValue[], pairs: readonly (readonly [LuaValue, LuaValue])[]): LuaTable {
    const table = new LuaTable();
    list.forEach((value, i) => table.set(i + 1, value));
    for (const [key, value] of pairs) table.set(key, value);
    return table;
  },
  /** What `ipairs(table)` walks through. */
  *walk(iterator: LuaValue | Multi): IterableIterator<readonly [LuaValue, LuaValue]> {
    const [, table] = operators.all(iterator);
    if (!(table instanceof LuaTable)) throw new LuaError(`table expected, got ${typeName(table)}`);
    for (let i = 0; i < table.list.length && table.list[i] !== undefined; i++) yield [i + 1, table.list[i]];
  },
};

/** What scripts may use besides `redis`, KEYS and ARGV. */
export const library: Readonly<Record<string, LuaFunction | Readonly<Record<string, LuaFunction | number>>>> = {
  tonumber: (value) => toNumber(value),
  type: (value) => typeName(value),
  ipairs: (table) => new Multi(['ipairs', table]),
  math: {
    min: (...values) => Math.min(...values.map(operand)),
    max: (...values) => Math.max(...values.map(operand)),
    floor: (value) => Math.floor(operand(value)),
    ceil: (value) => Math.ceil(operand(value)),
    huge: Infinity,
  },
  string: {
    sub(text, from, to) {
      const s = textOf(text);
      const at = (value: number): number => (value < 0 ? Math.max(s.length + value + 1, 1) : Math.max(value, 1));
      const end = to === undefined ? s.length : operand(to) < 0 ? s.length + operand(to) + 1 : operand(to);
      return s.slice(at(operand(from)) - 1, Math.max(end, 0));
    },
    find(text, what, from, plain) {
      if (operators.truth(plain)) {
        const at = textOf(text).indexOf(textOf(what), operand(from ?? 1) - 1);
        return at < 0 ? undefined : new Multi([at + 1, at + textOf(what).length]);
      }
      const found = pattern(textOf(what)).exec(textOf(text));
      return found === null ? undefined : new Multi([found.index + 1, found.index + found[0].length]);
    },
    match(text, what) {
      const found = pattern(textOf(what)).exec(textOf(text));
      return found === null ? undefined : operators.returned(found.length > 1 ? found.slice(1) : [found[0]]);
    },
    format(text, value) {
      if (text !== '%.0f') throw new LuaError(`the store in memory knows no format ${textOf(text)}`);
      return String(Math.round(operand(value)));
    },
  },
};

/** A compiled script. */
export type CompiledScript = (KEYS: LuaTable, ARGV: LuaTable) => LuaValue | Multi;

/** The commands of a server. */
export type RedisModule = Readonly<Record<'call' | 'pcall' | 'error_reply', LuaFunction>>;

type Parts = [redis: RedisModule, $: typeof operators, names: typeof library];
/** What `tools/luaCompiler.ts` makes of scripts: binds them to the commands of a server. */
export type ScriptMaker = (...parts: Parts) => Readonly<Record<string, CompiledScript>>;
/** Has the script with a text and its SHA-1. It throws where it has none. */
export type ScriptCompiler = (...parts: Parts) => (text: string, sha: string) => CompiledScript;
