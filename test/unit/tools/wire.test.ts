import { expect } from 'chai';
import { stateEntry, withStateEntry } from '../../../tools/changelog';
import { luaTokens } from '../../../tools/luaTokens';
import {
  currentWire,
  hashWire,
  type ReleasedWire,
  wireChanges,
  wireEntry,
  wireProblems,
  wireTexts,
} from '../../../tools/wire';

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Changed\n\n- Something.\n\n## 1.0.0 - 2026-01-01\n\n- First.\n';

describe('the wire', () => {
  const texts = wireTexts();
  const released: ReleasedWire = { version: 3, ...hashWire(texts) };
  const page = 'the page';

  function problems(wire: ReleasedWire, changelog: string, written = page): string[] {
    return wireProblems(released, wire, { page: written, expected: page, changelog });
  }

  /** A script that one process may run beside the other one's. */
  const changed = currentWire(released, { ...texts, 'script lock.acquire': `${texts['script lock.acquire']} more` });

  it('has a part for each script and each kind', () => {
    expect(Object.keys(texts)).to.include.members(['script lock.acquire', 'kind fair', 'kind latch', 'ticket']);
    expect(Object.keys(texts)).to.have.lengthOf.at.least(70);
  });

  it('needs nothing as long as it is that of the previous package', () => {
    expect(currentWire(released)).to.deep.equal(released);
    expect(problems(currentWire(released), CHANGELOG)).to.deep.equal([]);
  });

  it('comments and white space of a script do not count, all the rest does', () => {
    const text = "local a = KEYS[1] -- why\nif a == '--b' then\n  return 1\nend";
    expect(luaTokens(text)).to.equal("local a = KEYS [ 1 ] if a == '--b' then return 1 end");
    expect(luaTokens("--[[ long\n ]] local a = KEYS[1]\n\n\nif a == '--b' then return 1 end")).to.equal(
      luaTokens(text),
    );
    expect(luaTokens(text.replace('1\nend', '2\nend'))).not.to.equal(luaTokens(text));
    expect(luaTokens(text.replace("'--b'", "'-- b'"))).not.to.equal(luaTokens(text));
  });

  for (const part of ['script lock.acquire', 'kind fair', 'ticket', 'questions to a client']) {
    it(`another ${part} is another wire, with the next version`, () => {
      const other = currentWire(released, { ...texts, [part]: 'other' });
      expect(other.version).to.equal(4);
      expect(other.hash).not.to.equal(released.hash);
      expect(wireChanges(released.parts, other.parts)).to.deep.equal([`~ ${part}`]);
    });
  }

  it('the name of a script is ours alone', () => {
    const { ['script lock.acquire']: text, ...others } = texts;
    const renamed = currentWire(released, { ...others, 'script lock.take': text! });
    expect(renamed.hash).to.equal(released.hash);
  });

  it('a changed script without a line in the changelog is refused, with the command that mends it', () => {
    const [problem, ...more] = problems(changed, CHANGELOG);
    expect(more).to.deep.equal([]);
    expect(problem).to.match(/^CHANGELOG\.md has no entry "\*\*Wire 4\*\* \(`[0-9a-f]{12}`\)/);
    expect(problem).to.include('npm run docs:wire -- --upgrade');
    expect(problem).to.include('~ script lock.acquire');
  });

  it('a line that says what a rolling upgrade may do is enough', () => {
    const said = withStateEntry(CHANGELOG, wireEntry(changed, 'a rolling upgrade may do it.'));
    expect(problems(changed, said)).to.deep.equal([]);
    expect(stateEntry(said, 'Wire')).to.deep.equal(wireEntry(changed, 'a rolling upgrade may do it.'));
  });

  it('a line of an earlier release, one without an upgrade, and one of another state are not', () => {
    const entry = wireEntry(changed, 'a rolling upgrade may do it.');
    const old = withStateEntry(CHANGELOG, entry).replace('## Unreleased\n', '## Unreleased\n\n## 1.1.0 - 2026-02-02\n');
    expect(problems(changed, old)).to.have.lengthOf(1);
    const silent = withStateEntry(CHANGELOG, wireEntry(changed, 'it is faster.'));
    expect(problems(changed, silent)).to.match(/does not say what a rolling upgrade may do/);
    const next = currentWire(released, { ...texts, ticket: 'other' });
    expect(problems(next, withStateEntry(CHANGELOG, entry))).to.match(/is of another wire .*--same/);
  });

  it('a page of another state is refused', () => {
    expect(problems(released, CHANGELOG, 'another page')).to.match(/npm run docs:wire/);
  });
});

describe('an entry of the changelog that names a state', () => {
  const entry = { label: 'Wire 2', hash: 'abc123', text: 'one.' };

  it('replaces the one before, wherever it stands, and nothing else', () => {
    const once = withStateEntry(CHANGELOG, entry);
    const next = { label: 'Wire 3', hash: 'def456', text: `two ${'words '.repeat(40)}end.` };
    const twice = withStateEntry(once, next);
    expect(stateEntry(twice, 'Wire')).to.deep.equal(next);
    expect(twice).not.to.include('Wire 2');
    expect(Math.max(...twice.split('\n').map((line) => line.length))).to.be.at.most(120);
    expect(twice).to.include('- Something.\n').and.to.include('- First.\n');
    expect(withStateEntry(twice, entry)).to.equal(once);
  });

  it('comes into a changelog without "Changed", and into one without "Unreleased"', () => {
    for (const text of [
      '# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 1.0.0 - 2026-01-01\n\n- First.\n',
      '# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n',
      '# Changelog\n\nAll changes.\n\n## 1.0.0 - 2026-01-01\n\n- First.\n',
      '# Changelog\n\nAll changes.\n\n## Unreleased\n\n## 1.0.0 - 2026-01-01\n\n- First.\n',
    ]) {
      const written = withStateEntry(text, entry);
      expect(stateEntry(written, 'Wire'), text).to.deep.equal(entry);
      expect(written.indexOf('**Wire 2**')).to.be.greaterThan(written.indexOf('## Unreleased'));
      for (const line of text.split('\n')) expect(written.split('\n')).to.include(line);
    }
  });
});
