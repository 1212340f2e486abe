import { expect } from 'chai';
import { withRelease } from '../../../tools/changelog';
import { isAtLeast, type ReleaseFacts, releaseProblems } from '../../../tools/releaseProblems';

const GOOD: ReleaseFacts = {
  version: '1.2.3',
  lockVersion: '1.2.3',
  placeholders: [],
  changelog: '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-22\n\n- x\n',
  changes: '',
  tags: ['v1.2.2'],
};

describe('a release', () => {
  it('goes on when nothing is wrong', () => {
    expect(releaseProblems(GOOD)).to.deep.equal([]);
  });

  const bad: [what: string, facts: Partial<ReleaseFacts>, problem: RegExp][] = [
    ['changes that are not committed', { changes: ' M README.md' }, /not clean/],
    [
      'a version that is none',
      { version: '1.2', lockVersion: '1.2', changelog: '## 1.2 - 2026-11-22' },
      /not a version/,
    ],
    ['a lock file of another version', { lockVersion: '1.2.2' }, /package-lock/],
    [
      'an owner that is a placeholder',
      { placeholders: ['package.json'] },
      /placeholder in package\.json: npm run owner/,
    ],
    ['no entry in CHANGELOG.md', { changelog: '## Unreleased' }, /no line "## 1\.2\.3 - /],
    ['an entry without a date', { changelog: '## 1.2.3' }, /no line/],
    ['a tag that exists', { tags: ['v1.2.3'] }, /v1\.2\.3 exists/],
  ];
  for (const [what, facts, problem] of bad) {
    it(`is refused for ${what}`, () => {
      const problems = releaseProblems({ ...GOOD, ...facts });
      expect(problems).to.have.lengthOf(1);
      expect(problems[0]).to.match(problem);
    });
  }

  it('knows the later of two versions of npm', () => {
    for (const version of ['11.5.1', '11.5.2', '11.10.0', '12.0.0'])
      expect(isAtLeast(version, [11, 5, 1])).to.equal(true);
    for (const version of ['11.5.0', '11.4.9', '10.9.9', '9.99.99'])
      expect(isAtLeast(version, [11, 5, 1])).to.equal(false);
  });
});

describe('the changelog of a release', () => {
  const head = '# Changelog\n\n';
  const entry = (date: string): string => `## 1.0.0 - ${date}\n\n- The first.\n`;

  it('renames "Unreleased", and leaves what was released', () => {
    const dated = withRelease(`${head}## Unreleased\n\n- New.\n\n${entry('2026-01-01')}`, '1.1.0', '2026-02-02');
    expect(dated).to.equal(`${head}## 1.1.0 - 2026-02-02\n\n- New.\n\n${entry('2026-01-01')}`);
  });

  it('dates an entry that was prepared before', () => {
    for (const before of ['', '## Unreleased\n\n'])
      expect(withRelease(head + before + entry('2026-01-01'), '1.0.0', '2026-02-02')).to.equal(
        head + entry('2026-02-02'),
      );
  });

  it('is refused if nothing is unreleased, or if there is more than the entry has', () => {
    expect(() => withRelease(head + entry('2026-01-01'), '1.1.0', '2026-02-02')).to.throw(/has nothing under/);
    expect(() =>
      withRelease(`${head}## Unreleased\n\n- New.\n\n${entry('2026-01-01')}`, '1.0.0', '2026-02-02'),
    ).to.throw(/an entry for 1\.0\.0, and more under "Unreleased"/);
  });
});
