import * as fs from 'node:fs';
import * as path from 'node:path';
import ts from 'typescript';
import type { ListedMutation } from './list';
import { applyEdits } from '../bundle';

const root = path.resolve(__dirname, '../../..');

/** TypeScript's codes for a name, a property or a method that does not exist. */
const UNKNOWN_NAME = new Set([2304, 2339, 2551, 2552]);

/**
 * What a mutation names that `lib` does not have. Such a mutation throws where it should do harm: either every test
 * notices it, or it does what an error does anyway, and proves nothing.
 *
 * @returns `mutation: file: message` for each
 */
export function unknownNames(mutations: readonly ListedMutation[]): string[] {
  const edited = new Map<string, string>();
  const service = libService(edited);
  return mutations.flatMap(({ name, edits }) => {
    edited.clear();
    for (const file of new Set(edits.map((edit) => edit.file))) {
      const full = path.join(root, 'lib', file);
      const own = edits.filter((edit) => edit.file === file);
      edited.set(full, applyEdits(fs.readFileSync(full, 'utf8'), own));
    }
    return [...edited.keys()].flatMap((file) =>
      service
        .getSemanticDiagnostics(file)
        .filter(({ code }) => UNKNOWN_NAME.has(code))
        .map(({ messageText }) => `${name}: ${path.relative(root, file)}: ${text(messageText)}`),
    );
  });
}

function text(message: string | ts.DiagnosticMessageChain): string {
  return ts.flattenDiagnosticMessageText(message, ' ');
}

/** @param edited - the text of files that differ from those on disk */
function libService(edited: ReadonlyMap<string, string>): ts.LanguageService {
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(root, 'tsconfig.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: ({ messageText }) => fail(text(messageText)) },
  )!;
  const read = (file: string): string | undefined => edited.get(file) ?? ts.sys.readFile(file);
  return ts.createLanguageService({
    getScriptFileNames: () => config.fileNames.filter((file) => file.startsWith(path.join(root, 'lib'))),
    getScriptVersion: (file) => edited.get(file) ?? '',
    getScriptSnapshot: (file) => {
      const source = read(file);
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => config.options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
  });
}

function fail(message: string): never {
  throw new Error(message);
}
