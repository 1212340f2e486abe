import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { allCells, serverLine, VALUES } from '../../matrix/axes';
import { page, type MatrixRun } from '../../matrix/page';
import { projectRoot } from '../../../tools/buildOutput';

describe('the page of the matrix', () => {
  const releases: MatrixRun['releases'] = new Map<string, string | { readonly reason: string }>([
    ['redis-7', '7.0.15'],
    ['redis-8', { reason: 'there is none' }],
    ['node-20.19.0', '20.19.0'],
  ]);
  const [cell] = allCells({
    node: ['node-20.19.0'],
    ioredis: ['ioredis-6.0.0'],
    server: ['redis-7'],
    topology: ['cluster'],
  });
  const run = { date: '2030-01-02', tests: 'core', releases } as const;

  it('says what passed, with the release of the server', () => {
    const text = page({ ...run, outcomes: [{ cell: cell!, passed: 7, failed: 0, skipped: 2, succeeded: true }] });
    expect(text).to.match(
      /^\| Node 20\.19\.0 +\| ioredis 6\.0\.0 +\| Redis 7\.0\.15 +\| cluster +\| 7 +\| 2 +\| 0 +\|$/m,
    );
    expect(text).to.contain('2030-01-02');
  });

  it('says what failed, and what ended early', () => {
    const failed = { cell: cell!, passed: 7, failed: 3, skipped: 0, succeeded: false };
    expect(page({ ...run, outcomes: [failed] }))
      .to.contain('**3**')
      .and.to.contain('0, **1 failed**');
    expect(page({ ...run, outcomes: [{ ...failed, failed: 0 }] })).to.contain('**ended early**');
  });

  it('does not say that something was tried that was there and did not run', () => {
    const text = page({ ...run, outcomes: [{ cell: cell!, passed: 7, failed: 0, skipped: 0, succeeded: true }] });
    const tried = (what: string): string | undefined =>
      new RegExp(`^\\| ${what} .*\\| (\\S[^|]*?) +\\|$`, 'm').exec(text)?.[1];
    expect([tried('topology'), tried('runtime'), tried('ioredis')]).to.deep.equal([
      'cluster',
      'Node 20.19.0',
      'ioredis 6.0.0',
    ]);
    expect(page({ ...run, outcomes: [] })).to.not.match(/^\| runtime .*20\.19\.0 +\|$/m);
  });

  it('says what could not be had, and why', () => {
    expect(page({ ...run, outcomes: [] })).to.contain('- Redis 8: there is none.');
  });
});

describe('docs/compatibility.md', () => {
  const text = fs.readFileSync(path.join(projectRoot, 'docs', 'compatibility.md'), 'utf8');

  it('is of the versions that are in test/matrix/axes.ts (npm run test:matrix -- --pairwise --write)', () => {
    const versions = [...VALUES.node, ...VALUES.ioredis].map((id) => id.replace('-', ' '));
    expect(versions.filter((version) => !text.toLowerCase().includes(`| ${version} `))).to.deep.equal([]);
  });

  it('is of a run in which nothing failed, with every server in every topology', () => {
    expect(text).to.contain(' 0 combinations failed.');
    expect(text).to.not.contain('**ended early**');
    for (const id of VALUES.server) {
      const { product, line } = serverLine(id);
      for (const topology of VALUES.topology) {
        expect(text).to.match(new RegExp(`\\| ${product} ${line}\\.\\S+ +\\| ${topology} `), `${id}, ${topology}`);
      }
    }
  });
});
