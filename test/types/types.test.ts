import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { typeErrors } from '../support/typeErrors';

describe('public types', () => {
  it('are those of the contract: what they allow compiles, and what they forbid does not', function () {
    this.timeout(120_000);
    const files = fs
      .readdirSync(__dirname)
      .filter((file) => file.endsWith('.types.ts'))
      .map((file) => path.join(__dirname, file));
    expect(files.length).to.be.at.least(3);
    const errors = typeErrors(files, {
      module: ts.ModuleKind.Node20,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      esModuleInterop: true,
      skipLibCheck: true,
      typeRoots: [path.join(__dirname, '..', '..', 'node_modules', '@types')],
    });
    expect(errors).to.deep.equal([]);
  });
});
