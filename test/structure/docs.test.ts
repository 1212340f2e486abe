import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { createTestRedisson } from '../../lib/testing';
import { Redisson } from '../../lib';
import { asyncMethods, errorsOf, errorsPage } from '../../tools/errorTable';

/** The folders of the checkout whose pages are not ours, or are made by `npm run docs:build`. */
const FOREIGN = new Set(['node_modules', 'dist', 'coverage', 'api', '.vitepress']);

/** The Markdown files of the checkout. */
function pages(folder = projectRoot): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return FOREIGN.has(entry.name) ? [] : pages(path.join(folder, entry.name));
    return entry.name.endsWith('.md') ? [path.join(folder, entry.name)] : [];
  });
}

describe('the pages', () => {
  it('none is empty', () => {
    const empty = pages().filter((page) => fs.readFileSync(page, 'utf8').trim() === '');
    expect(empty.map((page) => path.relative(projectRoot, page))).to.deep.equal([]);
  });
});

describe('docs/errors.md', () => {
  it('is made from the doc comments (npm run docs:errors)', () => {
    const { is, shouldBe } = errorsPage();
    expect(is).to.equal(shouldBe);
    expect(is).to.contain('| `tryLock` ');
  });

  it('every public method that returns a promise says which errors it rejects with, in each of its forms', () => {
    const silent = asyncMethods().filter(({ never, throws, overloads }) => !never && throws.length < overloads);
    expect(silent.map(({ type, name }) => `${type}.${name}`)).to.deep.equal([]);
  });

  it('every method that asks Redis says whether it may be called again when there is no reply', () => {
    const unclear = asyncMethods().filter(({ throws }) =>
      throws.flat().some((text) => errorsOf(text).includes('ConnectionError') && !REPEAT.test(text)),
    );
    expect(unclear.map(({ type, name }) => `${type}.${name}`)).to.deep.equal([]);
  });
});

describe('docs/errors.md, of methods that return no promise', () => {
  it('names those that throw a TypeError; all others throw a ConfigError', async () => {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'errors.md'), 'utf8');
    const named = /A `TypeError` comes from ([^]*?)\.\n/.exec(page)?.[1] ?? '';
    const client = createTestRedisson();
    const thrown = new Map<string, Set<string>>();
    for (const name of Object.getOwnPropertyNames(Redisson.prototype).filter((one) => one !== 'constructor')) {
      const method: unknown = Object.getOwnPropertyDescriptor(Redisson.prototype, name)!.value;
      if (typeof method !== 'function') continue;
      for (const wrong of [[5], ['x', 5]]) {
        const error = await errorOf(() => method.apply(client, wrong) as unknown);
        if (error !== undefined) thrown.set(error, (thrown.get(error) ?? new Set<string>()).add(name));
      }
    }
    await client.shutdown();
    expect([...thrown.keys()]).to.have.members(['ConfigError', 'TypeError']);
    expect([...thrown.get('TypeError')!]).to.have.members([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  });
});

/** The name of the error that a call throws; a promise that it returns is another matter, and awaited. */
async function errorOf(call: () => unknown): Promise<string | undefined> {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    return (error as Error).name;
  }
  if (result instanceof Promise) await result.catch(() => undefined);
  return undefined;
}

describe('CONTRIBUTING.md', () => {
  const page = fs.readFileSync(path.join(projectRoot, 'CONTRIBUTING.md'), 'utf8');
  const { scripts } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const suites = fs
    .readdirSync(path.join(projectRoot, 'test'), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map(({ name }) => name)
    .filter((name) =>
      fs
        .readdirSync(path.join(projectRoot, 'test', name), { recursive: true, encoding: 'utf8' })
        .some((file) => file.endsWith('.test.ts') && !file.includes('node_modules')),
    );

  it('names the suites that `npm test` leaves out', () => {
    const named = /\| `npm test` +\|.*: all suites but ([\w, ]+?) *\|/.exec(page)?.[1]?.split(', ');
    const run = new Set([...scripts['test']!.matchAll(/ test\/(\w+)/g)].map(([, name]) => name));
    expect(named).to.have.members(suites.filter((name) => !run.has(name)));
  });

  it('names commands that there are', () => {
    const named = [...page.matchAll(/`npm run ([\w:-]+)/g)].map(([, name]) => name!).filter((name) => name !== 'test:');
    expect(named.filter((name) => scripts[name] === undefined)).to.deep.equal([]);
  });
});

describe('docs/something-hangs.md', () => {
  it('has a heading for every code of an error or a warning', () => {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'something-hangs.md'), 'utf8');
    const headings = [...page.matchAll(/^### `([A-Z_]+)`/gm)].map(([, code]) => code!);
    expect(headings.sort()).to.deep.equal(codes().sort());
  });
});

/** What a doc comment says of repeats. */
const REPEAT = /\. (Safe to repeat|Do not repeat|Repeat only if )/;

/** The codes in lib: of error classes, and of process warnings. */
function codes(): string[] {
  const lib = path.join(projectRoot, 'lib');
  const files = fs.readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => {
    const text = fs.readFileSync(path.join(lib, file), 'utf8');
    return [...text.matchAll(/readonly code = '([A-Z_]+)'|(?:code: |\bwarn\([^']*)'(IOREDISSON_[A-Z_]+)'/g)].map(
      (match) => match[1] ?? match[2]!,
    );
  });
  return [...new Set(found)];
}
