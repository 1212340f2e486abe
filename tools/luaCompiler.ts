import { library, operators, type ScriptCompiler, type ScriptMaker } from '../lib/testing/store/luaRuntime';
import { type LuaIdentifier, type LuaNode, parseLua } from './luaParser';

const BINARY: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '..': 'concat',
};

/** What brings another number of values than one. */
const MANY_VALUES = new Set(['_ipairs', '_string.find', '_string.match']);

/**
 * Compiles scripts to JavaScript: only the Lua that they use. Whatever it does not know is an error. A function that
 * several scripts have is in the text once.
 *
 * @param scripts - key and text of each
 * @returns the text of a {@link ScriptMaker}: it makes an object with a function for each key
 * @throws Error
 */
export function compileLua(scripts: Iterable<readonly [key: string, text: string]>): string {
  const shared = new Map<string, string>();
  const members = [...scripts].map(([key, text]) => `${JSON.stringify(key)}: ${script(withoutShared(text, shared))}`);
  const functions = [...shared.values()].map((text) => block(parseLua(text).body));
  const source = `${functions.join('\n')}\nreturn {\n${members.join(',\n')}\n};`;
  const parameters = ['redis', namesOf(operators, '$', source), namesOf(library, '_', source)];
  return `(${parameters.join(', ')}) => {\n${source}\n}`;
}

/** The same, ready to be called. */
export function makerOf(scripts: Iterable<readonly [key: string, text: string]>): ScriptMaker {
  // eslint-disable-next-line @typescript-eslint/no-implied-eval, @typescript-eslint/no-unsafe-call
  return new Function(`"use strict"; return ${compileLua(scripts)};`)() as ScriptMaker;
}

const makers = new Map<string, ScriptMaker>();

/** Compiles scripts in this process, when they are first used. */
export const compiledInPlace: ScriptCompiler = (...parts) => {
  return (text) => {
    let make = makers.get(text);
    if (make === undefined) makers.set(text, (make = makerOf([['script', text]])));
    return make(...parts)['script']!;
  };
};

function script(text: string): string {
  return `(KEYS, ARGV) => ${bodyOf(parseLua(text))}`;
}

function bodyOf(node: LuaNode): string {
  const statements = list(node, 'body');
  const end = statements.at(-1)?.type === 'ReturnStatement' ? '' : '\nreturn $returned([]);';
  return `{\n${block(statements)}${end}\n}`;
}

/**
 * Takes out of a script the functions that need nothing else of it.
 *
 * @param shared - their texts by name; another function of such a name stays in its script
 */
function withoutShared(text: string, shared: Map<string, string>): string {
  const taken = new Set<string>();
  const kept: string[] = [];
  let at = 0;
  const visit = (node: LuaNode): void => {
    if (node.type !== 'FunctionDeclaration') return;
    const { name } = node['identifier'] as LuaIdentifier;
    const [from, to] = node.range;
    const source = text.slice(from, to);
    const free = parseLua(source.replace(`local function ${name}`, 'return function')).globals;
    if (free.every((one) => one.name === 'redis' || Object.hasOwn(library, one.name) || taken.has(one.name))) {
      if (!shared.has(name)) shared.set(name, source);
      if (shared.get(name) !== source) return;
      taken.add(name);
      kept.push(text.slice(at, from));
      at = to;
    } else list(node, 'body').forEach(visit);
  };
  parseLua(text).body.forEach(visit);
  return [...kept, text.slice(at)].join('');
}

/** A pattern that takes from an object what a text uses of it, each under its name with a prefix. */
function namesOf(from: object, prefix: string, text: string): string {
  const words = new Set(text.match(/[$\w]+/g));
  const names = Object.keys(from).filter((name) => words.has(prefix + name));
  return `{ ${names.map((name) => `${name}: ${prefix}${name}`).join(', ')} }`;
}

/** Lua's names may be words of JavaScript. */
function variable(name: string): string {
  return ['redis', 'KEYS', 'ARGV'].includes(name) ? name : `_${name}`;
}

function block(statements: readonly LuaNode[]): string {
  return statements.map(statement).join('\n');
}

function list(node: LuaNode, field: string): readonly LuaNode[] {
  return node[field] as readonly LuaNode[];
}

function child(node: LuaNode, field: string): LuaNode {
  return node[field] as LuaNode;
}

function statement(node: LuaNode): string {
  switch (node.type) {
    case 'LocalStatement': {
      const names = list(node, 'variables').map(nameOf);
      const init = list(node, 'init');
      if (names.length === 1 && init.length <= 1)
        return `let ${names[0]} = ${init[0] ? single(init[0]) : 'undefined'};`;
      return `let [${names.join(', ')}] = [${values(init)}];`;
    }
    case 'AssignmentStatement': {
      const targets = list(node, 'variables');
      const init = list(node, 'init');
      if (targets.length === 1) return assignment(targets[0]!, single(init[0]!));
      const each = targets.map((target, i) => assignment(target, `$v[${i}]`)).join(' ');
      return `{ const $v = [${values(init)}]; ${each} }`;
    }
    case 'CallStatement':
      return `${expression(child(node, 'expression'))};`;
    case 'ReturnStatement': {
      const args = list(node, 'arguments');
      if (args.length === 1) return `return ${expression(args[0]!)};`;
      return `return $returned([${values(args)}]);`;
    }
    case 'IfStatement':
      return list(node, 'clauses')
        .map((clause, i) => {
          const body = `{\n${block(list(clause, 'body'))}\n}`;
          if (clause.type === 'ElseClause') return `else ${body}`;
          return `${i > 0 ? 'else ' : ''}if (${condition(child(clause, 'condition'))}) ${body}`;
        })
        .join(' ');
    case 'WhileStatement':
      return `while (${condition(child(node, 'condition'))}) {\n${block(list(node, 'body'))}\n}`;
    case 'BreakStatement':
      return 'break;';
    case 'DoStatement':
      return `{\n${block(list(node, 'body'))}\n}`;
    case 'ForNumericStatement': {
      const name = nameOf(child(node, 'variable'));
      const step = node['step'] ? single(child(node, 'step')) : '1';
      if (!/^\d+$/.test(step)) return unknown(node);
      const end = `$end${node.range[0]}`;
      return (
        `for (let ${name} = ${single(child(node, 'start'))}, ${end} = ${single(child(node, 'end'))}; ` +
        `${name} <= ${end}; ${name} += ${step}) {\n${block(list(node, 'body'))}\n}`
      );
    }
    case 'ForGenericStatement': {
      const [key = '', value = '$unused'] = list(node, 'variables').map(nameOf);
      const [iterator] = list(node, 'iterators');
      return `for (let [${key}, ${value}] of $walk(${expression(iterator!)})) {\n${block(list(node, 'body'))}\n}`;
    }
    case 'FunctionDeclaration': {
      const name = nameOf(child(node, 'identifier'));
      return `let ${name}; ${name} = ${functionOf(node)};`;
    }
    default:
      return unknown(node);
  }
}

function assignment(target: LuaNode, value: string): string {
  if (target.type === 'Identifier') return `${nameOf(target)} = ${value};`;
  const table = single(child(target, 'base'));
  return `$assign(${table}, ${keyOf(target)}, ${value});`;
}

function functionOf(node: LuaNode): string {
  const parameters = list(node, 'parameters')
    .map((parameter) => (parameter.type === 'VarargLiteral' ? '...$rest' : nameOf(parameter)))
    .join(', ');
  return `(${parameters}) => ${bodyOf(node)}`;
}

function expression(node: LuaNode): string {
  switch (node.type) {
    case 'NilLiteral':
      return 'undefined';
    case 'BooleanLiteral':
    case 'NumericLiteral':
      return String(node['value']);
    case 'StringLiteral': {
      const raw = node['raw'] as string;
      if (raw.includes('\\')) return unknown(node);
      return JSON.stringify(raw.slice(1, -1));
    }
    case 'Identifier':
      return nameOf(node);
    case 'VarargLiteral':
      return '$returned($rest)';
    case 'MemberExpression':
    case 'IndexExpression':
      return outside(node) ?? `$index(${single(child(node, 'base'))}, ${keyOf(node)})`;
    case 'CallExpression': {
      const known = outside(child(node, 'base'));
      const given = values(list(node, 'arguments'));
      if (known !== undefined) return `${known}(${given})`;
      return `$call(${[single(child(node, 'base')), given].filter(Boolean).join(', ')})`;
    }
    case 'FunctionDeclaration':
      return functionOf(node);
    case 'TableConstructorExpression': {
      const fields = list(node, 'fields');
      const items = fields.filter(({ type }) => type === 'TableValue').map((field) => child(field, 'value'));
      const pairs = fields
        .filter(({ type }) => type !== 'TableValue')
        .map((field) => {
          const key = child(field, 'key');
          const name = field.type === 'TableKeyString' ? JSON.stringify(key['name']) : single(key);
          return `[${name}, ${single(child(field, 'value'))}]`;
        });
      return `$table([${values(items)}], [${pairs.join(', ')}])`;
    }
    case 'UnaryExpression': {
      const argument = child(node, 'argument');
      if (node['operator'] === 'not') return `!${condition(argument)}`;
      if (node['operator'] === '-' && argument.type === 'NumericLiteral') return `-${single(argument)}`;
      return `$${node['operator'] === '#' ? 'length' : 'neg'}(${single(argument)})`;
    }
    case 'LogicalExpression': {
      const [left, right] = [single(child(node, 'left')), single(child(node, 'right'))];
      if (isBoolean(child(node, 'left'))) return `(${left} ${node['operator'] === 'and' ? '&&' : '||'} ${right})`;
      // What stands left is evaluated once.
      return node['operator'] === 'and'
        ? `(($l) => $truth($l) ? ${right} : $l)(${left})`
        : `(($l) => $truth($l) ? $l : ${right})(${left})`;
    }
    case 'BinaryExpression':
      return binary(node);
    default:
      return unknown(node);
  }
}

function binary(node: LuaNode): string {
  const [left, right] = [single(child(node, 'left')), single(child(node, 'right'))];
  const operator = node['operator'] as string;
  switch (operator) {
    case '==':
      return `(${left} === ${right})`;
    case '~=':
      return `(${left} !== ${right})`;
    case '<':
      return `$less(${left}, ${right})`;
    case '<=':
      return `$lessEqual(${left}, ${right})`;
    case '>':
      return `$less(${right}, ${left})`;
    case '>=':
      return `$lessEqual(${right}, ${left})`;
    default:
      return BINARY[operator] === undefined ? unknown(node) : `$${BINARY[operator]}(${left}, ${right})`;
  }
}

/** What is beside a script: `tonumber`, `redis.call`, `math.huge`, a shared function. */
function outside(node: LuaNode): string | undefined {
  const { isLocal, name } = (node.type === 'MemberExpression' ? child(node, 'base') : node) as LuaIdentifier;
  if (isLocal !== false) return undefined;
  if (node.type === 'Identifier') return typeof library[name] === 'object' ? unknown(node) : variable(name);
  if (name !== 'redis' && typeof library[name] !== 'object') return undefined;
  return `${variable(name)}.${(node['identifier'] as LuaIdentifier).name}`;
}

/** Whether an expression may have any number of values. */
function isList(node: LuaNode): boolean {
  if (node.type === 'VarargLiteral') return true;
  if (node.type !== 'CallExpression') return false;
  const known = outside(child(node, 'base'));
  if (known === undefined || MANY_VALUES.has(known)) return true;
  return !known.startsWith('redis.') && !Object.hasOwn(library, known.slice(1).split('.')[0]!);
}

/** An expression where one value is wanted. */
function single(node: LuaNode): string {
  const text = expression(node);
  return isList(node) ? `$one(${text})` : text;
}

function condition(node: LuaNode): string {
  if (node.type === 'LogicalExpression') {
    const operator = node['operator'] === 'and' ? '&&' : '||';
    return `(${condition(child(node, 'left'))} ${operator} ${condition(child(node, 'right'))})`;
  }
  return isBoolean(node) ? single(node) : `$truth(${single(node)})`;
}

/** Whether an expression is true or false, in Lua as in JavaScript. */
function isBoolean(node: LuaNode): boolean {
  if (node.type === 'UnaryExpression') return node['operator'] === 'not';
  return node.type === 'BinaryExpression' && /^([=~]=|[<>]=?)$/.test(node['operator'] as string);
}

/** A list of expressions: all values of the last one count. */
function values(nodes: readonly LuaNode[]): string {
  return nodes
    .map((node, i) => {
      if (!isList(node) || i < nodes.length - 1) return single(node);
      return `...$all(${expression(node)})`;
    })
    .join(', ');
}

function keyOf(node: LuaNode): string {
  if (node.type === 'IndexExpression') return single(child(node, 'index'));
  if (node['indexer'] !== '.') return unknown(node);
  return JSON.stringify(child(node, 'identifier')['name']);
}

function nameOf(node: LuaNode): string {
  if (node.type !== 'Identifier') return unknown(node);
  return variable(node['name'] as string);
}

function unknown(node: LuaNode): never {
  throw new Error(`The compiler does not know this Lua: ${node.type} ${JSON.stringify(node)}`);
}
