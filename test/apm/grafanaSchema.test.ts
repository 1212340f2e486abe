import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import ts from 'typescript';
import { installFolder } from '../../tools/installFolder';
import { projectRoot } from '../../tools/buildOutput';
import { skip } from '../support';

const folder = path.join(__dirname, 'promql');
const file = path.join(folder, 'dashboard.ts');
const dashboard = fs.readFileSync(path.join(projectRoot, 'docs', 'grafana', 'ioredisson.json'), 'utf8');

/** What the compiler says of a dashboard that claims to be one of Grafana's. */
function problemsOf(json: string): string[] {
  const source = `import type { Dashboard } from '@grafana/schema';
// In JSON the value of an enum is its text.
type Json<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
export const dashboard: Json<Dashboard> = ${json};
`;
  const options: ts.CompilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: [] },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile.call(host, name, ...rest);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

describe("docs/grafana, checked against Grafana's own schema", function () {
  this.timeout(120_000);

  before(function () {
    if (!installFolder(folder, "Grafana's schema", (line) => console.log(line))) {
      skip(this, "Grafana's schema could not be installed (npm ci in test/apm/promql failed)");
    }
  });

  it('the dashboard has the fields of the schema, of its types, and no others', () => {
    expect(problemsOf(dashboard)).to.deep.equal([]);
  });

  it('an unknown field and a wrong type are found', () => {
    expect(problemsOf(dashboard.replace('"schemaVersion"', '"schemaVersoin"')).join()).to.contain('schemaVersoin');
    expect(problemsOf(dashboard.replace('"mode": "absolute"', '"mode": "absolut"')).join()).to.contain('absolut');
  });
});
