import { type LuaNode, parseLua } from './luaParser';
import { library, type LuaTable, type LuaValue, type Multi, operators } from './luaRuntime';

/** A script that can be run. */
export type CompiledScript = (redis: LuaTable, KEYS: LuaTable, ARGV: LuaTable) => LuaValue | Multi;

const BINARY: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '..': 'concat',
};

/**
 * Compiles Lua to JavaScript: only what the scripts use. Whatever it does not know is an error.
 *
 * @throws Error
 */
export function compileLua(text: string): CompiledScript {
  const { body } = parseLua(text);
  const names = Object.keys(library);
  const source = `"use strict"; return (redis, KEYS, ARGV) => {\n${block(body)}\nreturn $.returned([]);\n};`;
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  const make = new Function('$', ...names.map(variable), source);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-call
  return make(operators, ...Object.values(library)) as CompiledScript;
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
      return `return $.returned([${values(args)}]);`;
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
      return `for (let [${key}, ${value}] of $.walk(${expression(iterator!)})) {\n${block(list(node, 'body'))}\n}`;
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
  return `$.assign(${table}, ${keyOf(target)}, ${value});`;
}

function functionOf(node: LuaNode): string {
  const parameters = list(node, 'parameters')
    .map((parameter) => (parameter.type === 'VarargLiteral' ? '...$rest' : nameOf(parameter)))
    .join(', ');
  return `(${parameters}) => {\n${block(list(node, 'body'))}\nreturn $.returned([]);\n}`;
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
      return '$.returned($rest)';
    case 'MemberExpression':
    case 'IndexExpression':
      return `$.index(${single(child(node, 'base'))}, ${keyOf(node)})`;
    case 'CallExpression':
      return `$.call(${[single(child(node, 'base')), values(list(node, 'arguments'))].filter(Boolean).join(', ')})`;
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
      return `$.table([${values(items)}], [${pairs.join(', ')}])`;
    }
    case 'UnaryExpression': {
      const argument = child(node, 'argument');
      if (node['operator'] === 'not') return `!${condition(argument)}`;
      return `$.${node['operator'] === '#' ? 'length' : 'neg'}(${single(argument)})`;
    }
    case 'LogicalExpression': {
      const [left, right] = [single(child(node, 'left')), single(child(node, 'right'))];
      // What stands left is evaluated once.
      return node['operator'] === 'and'
        ? `(($l) => $.truth($l) ? ${right} : $l)(${left})`
        : `(($l) => $.truth($l) ? $l : ${right})(${left})`;
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
      return `$.less(${left}, ${right})`;
    case '<=':
      return `$.lessEqual(${left}, ${right})`;
    case '>':
      return `$.less(${right}, ${left})`;
    case '>=':
      return `$.lessEqual(${right}, ${left})`;
    default:
      return BINARY[operator] === undefined ? unknown(node) : `$.${BINARY[operator]}(${left}, ${right})`;
  }
}

/** Whether an expression may have any number of values. */
function isList(node: LuaNode): boolean {
  return node.type === 'CallExpression' || node.type === 'VarargLiteral';
}

/** An expression where one value is wanted. */
function single(node: LuaNode): string {
  const text = expression(node);
  return isList(node) ? `$.one(${text})` : text;
}

function condition(node: LuaNode): string {
  if (node.type === 'BinaryExpression' && /^([=~]=|[<>]=?)$/.test(node['operator'] as string)) return single(node);
  return `$.truth(${single(node)})`;
}

/** A list of expressions: all values of the last one count. */
function values(nodes: readonly LuaNode[]): string {
  return nodes
    .map((node, i) => {
      if (!isList(node) || i < nodes.length - 1) return single(node);
      return `...$.all(${expression(node)})`;
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
