import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';

/** One import, re-export, `import()` or `import('...')` type of a file. */
export interface Import {
  readonly file: string;
  readonly specifier: string;
  /** The file behind a relative specifier; `undefined` for packages. */
  readonly target: string | undefined;
  /** Whether the compiler erases it. */
  readonly typeOnly: boolean;
}

/** Classes of peer packages that may be extended: what calls theirs expects all that theirs have. */
const BASES = ['InstrumentationBase'];

/** All TypeScript files under a folder, sorted. */
export function sourceFiles(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(folder, file))
    .sort();
}

/** What a file imports, in whatever way. */
export function importsOf(file: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    found.push({ file, specifier: specifier.text, target: targetOf(file, specifier.text), typeOnly });
  };
  forEachNode(parse(file), (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyImport(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyExport(node));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
    else if (ts.isExternalModuleReference(node)) add(node.expression, false);
    else if (ts.isCallExpression(node) && loadsModule(node.expression)) add(node.arguments[0], false);
  });
  return found;
}

/** What a file does that the house rules forbid, in words. */
export function syntaxOffences(file: string): string[] {
  const offences: string[] = [];
  forEachNode(parse(file), (node) => {
    if (ts.isExportAssignment(node) || isDefaultModifier(node)) offences.push('export default');
    if (ts.isIdentifier(node) && node.text === 'enterWith') offences.push('enterWith');
    if (ts.isHeritageClause(node) && ts.isClassLike(node.parent) && node.token === ts.SyntaxKind.ExtendsKeyword) {
      const [base] = node.types.map((type) => type.expression.getText());
      if (base !== undefined && !/Error$/.test(base) && !BASES.includes(base)) offences.push(`extends ${base}`);
    }
  });
  return offences;
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
}

function forEachNode(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => forEachNode(child, visit));
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  return clause.name === undefined && named !== undefined && ts.isNamedImports(named) && allTypes(named.elements);
}

function isTypeOnlyExport(node: ts.ExportDeclaration): boolean {
  const named = node.exportClause;
  return node.isTypeOnly || (named !== undefined && ts.isNamedExports(named) && allTypes(named.elements));
}

function allTypes(elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[]): boolean {
  return elements.length > 0 && elements.every((element) => element.isTypeOnly);
}

function loadsModule(expression: ts.Expression): boolean {
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === 'require')
  );
}

function isDefaultModifier(node: ts.Node): boolean {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.DefaultKeyword)
  );
}

function targetOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const bare = path.resolve(path.dirname(file), specifier.replace(/\.js$/, ''));
  const candidates = [`${bare}.ts`, path.join(bare, 'index.ts')];
  return candidates.find((candidate) => fs.existsSync(candidate)) ?? bare;
}
