import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';

const tests = path.resolve(__dirname, '..');

/** `B-SUBS` or `B-CONC-1`, `G-07`, and `A10` where a title begins with it or has it in parentheses. */
const IDS = /\b(B-[A-Z]+(?:-[A-Z0-9]+)*|G-\d{2})\b|['"`(]([AB]\d{1,2})(?=[:),])/g;

describe('the ids in the titles of tests', () => {
  it('are explained in test/README.md', () => {
    const page = fs.readFileSync(path.join(tests, 'README.md'), 'utf8');
    const explained = new Set([...page.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word!));
    const unknown = testFiles().flatMap((file) =>
      [...fs.readFileSync(path.join(tests, file), 'utf8').matchAll(IDS)]
        .map(([, scenario, defect]) => (scenario ?? defect)!)
        .filter((id) => !explained.has(id))
        .map((id) => `${id} in ${file}`),
    );
    expect(unknown).to.deep.equal([]);
  });
});

function testFiles(): string[] {
  return fs
    .readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules') && !file.startsWith('structure'));
}
