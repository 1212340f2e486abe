import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';
import { workflowProblems } from '../../../tools/workflowProblems';

const HASH = '3d3c42e5aac5ba805825da76410c181273ba90b1';
const GOOD = `permissions:
  contents: read
jobs:
  publish:
    permissions:
      contents: write
    steps:
      - uses: actions/checkout@${HASH} # v7.0.1
        with:
          persist-credentials: false
      - run: npm ci
`;

describe('the workflows', () => {
  const folder = path.join(projectRoot, '.github', 'workflows');
  for (const file of fs.readdirSync(folder)) {
    it(`${file} has nothing unpinned, and no rights that it does not need`, () => {
      expect(workflowProblems(file, fs.readFileSync(path.join(folder, file), 'utf8'))).to.deep.equal([]);
    });
  }

  it('only the job that publishes may write to the repository', () => {
    const writers = fs
      .readdirSync(folder)
      .filter((file) => fs.readFileSync(path.join(folder, file), 'utf8').includes('contents: write'));
    expect(writers).to.deep.equal(['release.yml']);
  });

  it('one that is good has no problem', () => {
    expect(workflowProblems('a.yml', GOOD)).to.deep.equal([]);
  });

  const bad: [what: string, from: string, to: string, problem: RegExp][] = [
    ['a tag instead of a hash', `@${HASH} # v7.0.1`, '@v7', /a\.yml: - uses: actions\/checkout@v7: not pinned/],
    ['a hash without its version', ' # v7.0.1', '', /not pinned/],
    ['a short hash', HASH, HASH.slice(0, 12), /not pinned/],
    ['more rights for all jobs', 'permissions:\n  contents: read', 'permissions: write-all', /all jobs begin with/],
    ['a checkout that leaves its token', 'persist-credentials: false', 'fetch-depth: 0', /persist-credentials/],
    ['an installation without the lock file', 'npm ci', 'npm install --global npm', /no lock file/],
    ['npx', 'npm ci', 'npx something', /no lock file.*|runs in the job/],
    ['tests where it publishes', 'npm ci', 'npm test', /"npm test" runs in the job that publishes/],
    [
      'a cache where it publishes',
      'persist-credentials: false',
      'persist-credentials: false\n          cache: npm',
      /cache/,
    ],
  ];
  for (const [what, from, to, problem] of bad) {
    it(`refuses ${what}`, () => {
      expect(GOOD).to.include(from);
      const problems = workflowProblems('a.yml', GOOD.replace(from, to));
      expect(problems).not.to.have.lengthOf(0);
      expect(problems.join('\n')).to.match(problem);
    });
  }
});
