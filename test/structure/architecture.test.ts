import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { PICTURE, pictureOf, stepsOf } from './architecture';
import { EDGES } from './edges';
import { importsOf } from './sourceGraph';

const root = path.resolve(__dirname, '..', '..');
const lib = path.join(root, 'lib');
const page = fs.readFileSync(path.join(root, 'docs', 'architecture.md'), 'utf8');

/** `journeys.test.ts` says how many functions may run on them. */
const JOURNEYS = ['`tryLock()` of a free lock', 'A wake-up'];

/** Interfaces that stand between a caller and what it does not know. */
const CONTRACTS = ['kinds/Kind.ts', 'connection/pending/CommandExecutor.ts', 'connection/pubsub/Subscriber.ts'];

const TERMS =
  'Lock Kind Script Acquisition Attempt WaitLimit WaitQueue Waiter Subscriptions Hold Ownership Lane Watchdog Rollback Executor Link';

describe('docs/architecture.md', () => {
  it('draws exactly the edges of the table (npm run docs:architecture)', () => {
    expect(PICTURE.exec(page)?.[0]).to.equal(
      `<!-- picture -->\n\n\`\`\`text\n${pictureOf(EDGES)}\n\`\`\`\n\n<!-- /picture -->`,
    );
  });

  it('explains the sixteen terms', () => {
    const explained = [...page.matchAll(/^\| \*\*(\w+)\*\* /gm)].map(([, term]) => term);
    expect(explained).to.have.members(TERMS.split(' '));
  });

  it('names folders that exist', () => {
    const [, tree = ''] = page.split('## The tree');
    const folders = [...tree.matchAll(/^ *([a-z]+(?:\/[a-z]+)*)\/ /gm)].map(([, folder]) => folder!);
    expect(folders).not.to.have.lengthOf(0);
    const known = Object.keys(EDGES).flatMap((place) => place.split('/'));
    expect(folders.filter((folder) => folder !== 'lib' && !known.includes(folder.split('/').at(-1)!))).to.deep.equal(
      [],
    );
  });

  for (const heading of JOURNEYS) {
    describe(`the journey of ${heading}`, () => {
      const steps = stepsOf(page, heading);
      const files = steps.map(({ file }) => file);

      it('leads through no file twice', () => {
        expect(files).not.to.have.lengthOf(0);
        expect(new Set(files)).to.have.lengthOf(files.length);
      });

      it('goes from each file to one that shares an import with it or with an earlier one', () => {
        const imports = new Map(files.map((file) => [file, importedBy(file)]));
        const lost = files.slice(1).filter((file, i) => {
          const before = files.slice(0, i + 1);
          const of = imports.get(file)!;
          return !before.some((one) => {
            const others = imports.get(one)!;
            return (
              others.has(file) || of.has(one) || CONTRACTS.some((contract) => others.has(contract) && of.has(contract))
            );
          });
        });
        expect(lost).to.deep.equal([]);
      });

      it('names what is there', () => {
        const gone = steps.flatMap(({ file, names }) => {
          const text = fs.readFileSync(path.join(lib, file), 'utf8');
          return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)).map((name) => `${file}: ${name}`);
        });
        expect(gone).to.deep.equal([]);
      });
    });
  }
});

/** What a file imports of lib/. */
function importedBy(file: string): Set<string> {
  const targets = importsOf(path.join(lib, file)).flatMap(({ target }) => (target === undefined ? [] : [target]));
  return new Set(targets.map((target) => path.relative(lib, target).split(path.sep).join('/')));
}
