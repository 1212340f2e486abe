import { createHash } from 'node:crypto';
import * as path from 'node:path';
import * as ts from 'typescript';
import { projectRoot } from './buildOutput';
import { stateEntry, type StateEntry } from './changelog';
import { entryPoints } from './entryPoints';

/** What an entry point exports: the text of each declaration by its name, without comments. */
export interface EntryReport {
  /** What users write: `ioredisson/otel`. */
  readonly specifier: string;
  readonly declarations: Readonly<Record<string, string>>;
  /** What those name, and no entry point exports. */
  readonly reachable: Readonly<Record<string, string>>;
}

/** The public declarations of a build, by entry point. @param dist - its folder */
export function apiReport(dist = path.join(projectRoot, 'dist')): EntryReport[] {
  const entries = entryPoints().map(({ specifier, folder }) => ({
    specifier,
    file: path.join(dist, folder, 'index.d.ts'),
  }));
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, noLib: true, types: [] },
  );
  const checker = program.getTypeChecker();
  const exported = new Set<ts.Symbol>();
  const exportsOf = entries.map(({ specifier, file }) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${file} is missing, or exports nothing`);
    const symbols = checker
      .getExportsOfModule(module)
      .map((symbol) => ({ name: symbol.name, symbol: targetOf(symbol, checker) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { symbol } of symbols) exported.add(symbol);
    return { specifier, symbols };
  });
  return exportsOf.map(({ specifier, symbols }) => {
    const declarations: Record<string, string> = {};
    const others = new Map<string, ts.Symbol>();
    const visit = (symbol: ts.Symbol): void => {
      for (const other of namedIn(symbol, checker)) {
        if (exported.has(other) || !isOurs(other, dist) || others.get(other.name) === other) continue;
        others.set(other.name, other);
        visit(other);
      }
    };
    for (const { name, symbol } of symbols) {
      declarations[name] = isOurs(symbol, dist) ? textOf(symbol) : '// of another package';
      if (isOurs(symbol, dist)) visit(symbol);
    }
    const reachable = [...others]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, textOf(one)] as const);
    return { specifier, declarations, reachable: Object.fromEntries(reachable) };
  });
}

/** The report as a page. */
export function apiPage(entries: readonly EntryReport[]): string {
  const known = new Map<string, string>();
  const sections = entries.map(({ specifier, declarations, reachable }) => {
    const texts = Object.entries(declarations).map(([name, text]) => {
      const first = known.get(text);
      if (first !== undefined && first !== specifier) return `// ${name}: as in ${first}`;
      known.set(text, specifier);
      return text;
    });
    const others = Object.values(reachable);
    return [
      `## ${specifier}`,
      fenced(texts),
      ...(others.length === 0 ? [] : ['Not exported, but named there:', fenced(others)]),
    ].join('\n\n');
  });
  return `# Public declarations

What the package exports, without comments, by entry point. \`npm run docs:api-report\` writes this page from the built
declarations; do not edit it. \`npm test\` fails when the two differ, and when a changed declaration is not named under
"Unreleased" in CHANGELOG.md.

Hash \`${apiHash(entries)}\`.

${sections.join('\n\n')}
`;
}

/** One hash over all. */
export function apiHash(entries: readonly EntryReport[]): string {
  return hashOf(JSON.stringify(Object.entries(apiHashes(entries)))).slice(0, 12);
}

/** The hash of each declaration: `ioredisson/otel: traceLocks`. */
export function apiHashes(entries: readonly EntryReport[]): Record<string, string> {
  return Object.fromEntries(
    entries.flatMap(({ specifier, declarations, reachable }) =>
      Object.entries({ ...reachable, ...declarations }).map(([name, text]) => [
        `${specifier}: ${name}`,
        hashOf(text).slice(0, 8),
      ]),
    ),
  );
}

/** The names of what was added, changed or removed. */
export function apiChanges(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): Readonly<Record<'added' | 'changed' | 'removed', readonly string[]>> {
  const name = (key: string): string => key.slice(key.indexOf(': ') + 2);
  const names = (keys: readonly string[]): string[] => [...new Set(keys.map(name))].sort();
  return {
    added: names(Object.keys(now).filter((key) => before[key] === undefined)),
    changed: names(Object.keys(now).filter((key) => before[key] !== undefined && before[key] !== now[key])),
    removed: names(Object.keys(before).filter((key) => now[key] === undefined)),
  };
}

/** The entry of the changelog for these declarations; `undefined`: nothing has changed, and none is needed. */
export function apiEntry(
  before: Readonly<Record<string, string>>,
  entries: readonly EntryReport[],
): StateEntry | undefined {
  const parts = Object.entries(apiChanges(before, apiHashes(entries))).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`${what} ${names.map((name) => `\`${name}\``).join(', ')}`],
  );
  if (parts.length === 0) return undefined;
  return { label: 'Declarations', hash: apiHash(entries), text: `${parts.join('; ')}.` };
}

/** What forbids to release these declarations, a line each, with what mends it; empty: nothing. */
export function apiProblems(
  before: Readonly<Record<string, string>>,
  entries: readonly EntryReport[],
  { page, expected, changelog }: { readonly page: string; readonly expected: string; readonly changelog: string },
): string[] {
  const problems: string[] = [];
  const how = 'run `npm run docs:api-report`';
  if (page !== expected) problems.push(`docs/api-report.md is not that of the build: ${how}`);
  const wanted = apiEntry(before, entries);
  const entry = stateEntry(changelog, 'Declarations');
  if (wanted !== undefined && (entry?.hash !== wanted.hash || entry.text !== wanted.text))
    problems.push(`CHANGELOG.md has no entry "**Declarations** (\`${wanted.hash}\`): ${wanted.text}"; ${how}`);
  return problems;
}

function targetOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isOurs(symbol: ts.Symbol, dist: string): boolean {
  const [declaration] = symbol.declarations ?? [];
  return declaration !== undefined && !path.relative(dist, declaration.getSourceFile().fileName).startsWith('..');
}

/** The top-level symbols that a declaration names. */
function namedIn(symbol: ts.Symbol, checker: ts.TypeChecker): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (isPrivate(node)) return;
    if (ts.isIdentifier(node)) {
      const named = checker.getSymbolAtLocation(node);
      const target = named && targetOf(named, checker);
      if (target?.declarations?.some((one) => isTopLevel(one)) === true) found.add(target);
    }
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  found.delete(symbol);
  return found;
}

function isTopLevel(node: ts.Node): boolean {
  const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return ts.isSourceFile(statement.parent) || ts.isModuleBlock(statement.parent);
}

const printer = ts.createPrinter({ removeComments: true });

/** All declarations of a symbol, without private members. */
function textOf(symbol: ts.Symbol): string {
  const texts = (symbol.declarations ?? []).map((declaration) => {
    const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    return printer.printNode(ts.EmitHint.Unspecified, withoutPrivate(node), declaration.getSourceFile());
  });
  return texts.join('\n');
}

function withoutPrivate(node: ts.Node): ts.Node {
  if (!ts.isClassDeclaration(node)) return node;
  return ts.factory.updateClassDeclaration(
    node,
    node.modifiers,
    node.name,
    node.typeParameters,
    node.heritageClauses,
    node.members.filter((member) => !isPrivate(member)),
  );
}

function isPrivate(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false;
  if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return true;
  const modifiers = ts.canHaveModifiers(node) ? ts.getModifiers(node) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) === true;
}

function fenced(texts: readonly string[]): string {
  return `\`\`\`typescript\n${texts.join('\n\n')}\n\`\`\``;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
