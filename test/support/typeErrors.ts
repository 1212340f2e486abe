import * as path from 'node:path';
import * as ts from 'typescript';
import { projectRoot } from '../../tools/buildOutput';

/**
 * What the compiler, as strict as it gets, has to say about these files and about our declarations that they reach
 * (of everybody else's only what it meets on the way: checking all of Node's takes long). `file(line): message`.
 *
 * @param compiler - another version of it
 */
export function typeErrors(
  files: readonly string[],
  options: ts.CompilerOptions,
  compiler: Pick<typeof ts, 'createProgram' | 'createCompilerHost'> = ts,
): string[] {
  const all: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.esnext.decorators.d.ts'],
    types: ['node'],
    ...options,
  };
  const program = compiler.createProgram([...files], all, hostFor(all, compiler));
  const ours = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName) || isOurs(fileName));
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...ours.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ];
  return diagnostics.map(describe);
}

/** The declarations of TypeScript and Node are parsed once for all programs of the same options: half of their time. */
const parsed = new WeakMap<object, Map<string, ts.SourceFile | undefined>>();

function hostFor(options: ts.CompilerOptions, compiler: Pick<typeof ts, 'createCompilerHost'>): ts.CompilerHost {
  const host = compiler.createCompilerHost(options);
  const declarations = parsed.get(compiler) ?? new Map<string, ts.SourceFile | undefined>();
  parsed.set(compiler, declarations);
  const read = host.getSourceFile.bind(host);
  const ofOptions = JSON.stringify(options);
  return {
    ...host,
    getSourceFile(fileName, ...more) {
      if (!/\/node_modules\/(typescript|@types|undici-types)\//.test(fileName)) return read(fileName, ...more);
      const key = `${fileName} ${ofOptions}`;
      if (!declarations.has(key)) declarations.set(key, read(fileName, ...more));
      return declarations.get(key);
    },
  };
}

function isOurs(fileName: string): boolean {
  return fileName.includes('/ioredisson/dist/') || fileName.startsWith(path.join(projectRoot, 'dist') + path.sep);
}

function describe(diagnostic: ts.Diagnostic): string {
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
  if (diagnostic.file === undefined) return message;
  const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
  return `${path.basename(diagnostic.file.fileName)}(${line + 1}): ${message}`;
}
