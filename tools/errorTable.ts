import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { projectRoot } from './buildOutput';
import { entryPoints } from './entryPoints';

/** A method of the public API that returns a promise, and what its doc comment says about errors. */
export interface AsyncMethod {
  /** The entry point that exports its type first, e.g. `ioredisson`. */
  readonly entry: string;
  /** The interface or class, e.g. `RLock`. */
  readonly type: string;
  /** E.g. `tryLock`, `[Symbol.asyncDispose]`. */
  readonly name: string;
  /** Whether a comment says that it never rejects. */
  readonly never: boolean;
  /** The `@throws` of each overload that has any; the text without the tag, on one line. */
  readonly throws: readonly (readonly string[])[];
  /** How many overloads there are. */
  readonly overloads: number;
}

/** The names of errors with which a `@throws` begins, e.g. `ConnectionError, CommandTimeoutError if ...`. */
const NAMES = /^[A-Z]\w+Error(?:, [A-Z]\w+Error)*/;

/** @returns the errors that a `@throws` names; empty if it says it in words (`what fn throws`) */
export function errorsOf(text: string): string[] {
  return text.split('; ').flatMap((part) => NAMES.exec(part)?.[0].split(', ') ?? []);
}

/** All methods of the public API that return a promise, in the order of the entry points and of their exports. */
export function asyncMethods(): AsyncMethod[] {
  const known = new Set<ts.Node>();
  const found: AsyncMethod[] = [];
  const clientMethods = new Set<string>();
  for (const { specifier, folder } of entryPoints()) {
    const types = exportedTypes(path.join(projectRoot, 'lib', folder, 'index.ts')).filter((one) => !known.has(one));
    for (const declaration of types) {
      known.add(declaration);
      const methods = methodsOf(declaration, specifier);
      if (declaration.name!.text === 'RedissonClient') for (const { name } of methods) clientMethods.add(name);
      found.push(...methods);
    }
  }
  // The class has the methods of its interface, where they are described.
  return found.filter(({ type, name }) => type !== 'Redisson' || !clientMethods.has(name));
}

type TypeDeclaration = ts.InterfaceDeclaration | ts.ClassDeclaration;

const parsed = new Map<string, ts.SourceFile>();

function parse(file: string): ts.SourceFile {
  let source = parsed.get(file);
  if (source === undefined) {
    source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    parsed.set(file, source);
  }
  return source;
}

/** The interfaces and classes that a module exports, also from other modules of lib. @param only - of these names */
function exportedTypes(file: string, only?: ReadonlySet<string>): TypeDeclaration[] {
  return parse(file).statements.flatMap((statement) => {
    if (ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement)) {
      const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      return isExported && (only === undefined || only.has(statement.name!.text)) ? [statement] : [];
    }
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [];
    const { exportClause } = statement;
    const from = resolve(file, (statement.moduleSpecifier as ts.StringLiteral).text);
    if (exportClause === undefined) return exportedTypes(from, only);
    if (!ts.isNamedExports(exportClause)) return [];
    const names = exportClause.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
    return exportedTypes(from, new Set(names.filter((name) => only === undefined || only.has(name))));
  });
}

function resolve(from: string, specifier: string): string {
  const place = path.resolve(path.dirname(from), specifier);
  const file = `${place}.ts`;
  return fs.existsSync(file) ? file : path.join(place, 'index.ts');
}

function methodsOf(declaration: TypeDeclaration, entry: string): AsyncMethod[] {
  const methods = new Map<string, AsyncMethod>();
  for (const member of declaration.members) {
    if (!ts.isMethodSignature(member) && !ts.isMethodDeclaration(member)) continue;
    if (ts.isPrivateIdentifier(member.name) || !isPublic(member) || !isAsync(member)) continue;
    const name = member.name.getText();
    const tags = ts
      .getJSDocTags(member)
      .filter(({ tagName }) => tagName.text === 'throws')
      .map(({ comment }) => (ts.getTextOfJSDocComment(comment) ?? '').replaceAll(/\s+/g, ' ').trim());
    const docs = ts.getJSDocCommentsAndTags(member).map((doc) => doc.getText());
    const before = methods.get(name);
    methods.set(name, {
      entry,
      type: declaration.name!.text,
      name,
      never: before?.never === true || docs.some((doc) => /\bnever (rejects|throws)\b/i.test(doc)),
      throws: [...(before?.throws ?? []), ...(tags.length > 0 ? [tags] : [])],
      overloads: (before?.overloads ?? 0) + 1,
    });
  }
  return [...methods.values()];
}

function isPublic(member: ts.MethodSignature | ts.MethodDeclaration): boolean {
  return !(ts.getModifiers(member) ?? []).some(
    ({ kind }) => kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.ProtectedKeyword,
  );
}

function isAsync({ type }: ts.MethodSignature | ts.MethodDeclaration): boolean {
  return /^(Promise|AsyncGenerator)</.test(type?.getText() ?? '');
}

/** What a caller may do when Redis did not reply, from the `@throws` for that. */
function again(texts: readonly string[]): string {
  const text = texts.find((one) => errorsOf(one).includes('ConnectionError'));
  return /\. (.*)$/.exec(text ?? '')?.[1] ?? '';
}

/** The tables of docs/errors.md: one for each type, a row for each method. */
export function errorTables(): string {
  const methods = asyncMethods();
  const types = [...new Set(methods.map(({ entry, type }) => `${entry} ${type}`))];
  return types
    .map((title) => {
      const [entry, type] = title.split(' ');
      const rows = methods.filter((method) => method.entry === entry && method.type === type).map(row);
      return [
        `### ${type}${entry === 'ioredisson' ? '' : ` (${entry})`}`,
        '',
        ...table(['method', 'rejects with', 'if Redis does not reply'], rows),
      ].join('\n');
    })
    .join('\n\n');
}

/** Errors that most methods have; the page explains these words above the tables. */
const GROUPS: readonly (readonly [word: string, errors: readonly string[]])[] = [
  ['_Redis_', ['ConnectionError', 'CommandTimeoutError', 'CommandError', 'ShutdownError']],
  ['_arguments_', ['RangeError', 'TypeError', 'ConfigError']],
];

function row({ name, never, throws }: AsyncMethod): string[] {
  const texts = throws.flat();
  const inWords = texts.filter((text) => errorsOf(text).length === 0).map((text) => text.split(',')[0]!);
  let errors = [...new Set(texts.flatMap(errorsOf))];
  const groups: string[] = [];
  for (const [word, all] of GROUPS) {
    if (!all.every((error) => errors.includes(error))) continue;
    errors = errors.filter((error) => !all.includes(error));
    groups.push(word);
  }
  const cells = [...new Set(inWords), ...errors.map((error) => `\`${error}\``), ...groups];
  return [`\`${name}\``, never ? 'nothing' : cells.join(', '), again(texts)];
}

/** As prettier writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((one) => one[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

const page = path.join(projectRoot, 'docs', 'errors.md');
const MARKED = /(<!-- errors: written by npm run docs:errors -->\n\n)[^]*?(\n\n<!-- \/errors -->)/;

/** docs/errors.md as it is, and as it should be. */
export function errorsPage(): { readonly is: string; readonly shouldBe: string } {
  const is = fs.readFileSync(page, 'utf8');
  return { is, shouldBe: is.replace(MARKED, (_, before: string, after: string) => before + errorTables() + after) };
}

if (require.main === module) fs.writeFileSync(page, errorsPage().shouldBe);
