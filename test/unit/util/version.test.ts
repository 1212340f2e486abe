import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { VERSION } from '../../../lib/util/version';

describe('VERSION', () => {
  it('is that of package.json', () => {
    const manifest = fs.readFileSync(path.resolve(__dirname, '../../../package.json'), 'utf8');
    expect(VERSION).to.equal((JSON.parse(manifest) as { readonly version: string }).version);
  });
});
