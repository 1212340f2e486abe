import { createRequire } from 'node:module';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';

/** How decorators are compiled. */
export type Flavour = 'standard' | 'legacy' | 'legacy with metadata';

/** Who compiles. */
export type Compiler = 'tsc' | 'swc';

/** A program of `programs/` as CommonJS. Types are not checked. */
export function compiled(program: string, compiler: Compiler, flavour: Flavour): string {
  const file = path.join(__dirname, 'programs', program);
  const text = fs.readFileSync(file, 'utf8');
  return compiler === 'tsc' ? byTsc(text, flavour) : bySwc(text, flavour);
}

function byTsc(text: string, flavour: Flavour): string {
  return ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      esModuleInterop: true,
      experimentalDecorators: flavour !== 'standard',
      emitDecoratorMetadata: flavour === 'legacy with metadata',
    },
  }).outputText;
}

/** The part of `@swc/core` that is used here. */
interface Swc {
  transformSync(text: string, options: object): { readonly code: string };
}

function bySwc(text: string, flavour: Flavour): string {
  const swc = createRequire(path.join(__dirname, 'versions', 'swc', 'package.json'))('@swc/core') as Swc;
  const transform =
    flavour === 'standard'
      ? { decoratorVersion: '2022-03' }
      : { legacyDecorator: true, decoratorMetadata: flavour === 'legacy with metadata' };
  return swc.transformSync(text, {
    configFile: false,
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript', decorators: true }, transform },
    module: { type: 'commonjs' },
  }).code;
}
