import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';
import { problemsOfSite } from '../../../tools/docs/checkSite';
import { referenceLink, siteLink, slugify } from '../../../tools/docs/links';
import { joinThrows, sourcesOf } from '../../../tools/docs/reference';

const context = { root: projectRoot, repository: 'https://git.example/owner/it' };

describe('the links of the documentation site', () => {
  for (const [href, page, expected] of [
    ['threads.md', 'docs/reliability.md', '/threads.md'],
    ['../threads.md#warnings', 'docs/adr/README.md', '/threads.md#warnings'],
    ['adr', 'docs/architecture.md', '/adr/index.md'],
    ['adr/README.md', 'docs/architecture.md', '/adr/index.md'],
    ['../CHANGELOG.md', 'docs/threads.md', '/changelog.md'],
    ['docs/threads.md', 'CHANGELOG.md', '/threads.md'],
    ['../test/faults', 'docs/reliability.md', 'https://git.example/owner/it/tree/main/test/faults'],
    ['../README.md#threads', 'docs/threads.md', 'https://git.example/owner/it/blob/main/README.md#threads'],
    ['grafana/alerts.yml', 'docs/observability.md', 'https://git.example/owner/it/blob/main/docs/grafana/alerts.yml'],
    ['#here', 'docs/threads.md', '#here'],
    ['https://redis.io/', 'docs/threads.md', 'https://redis.io/'],
  ] as const) {
    it(`${href} in ${page} is ${expected}`, () => {
      expect(siteLink(href, page, context)).to.equal(expected);
    });
  }

  it('a file that is not there is an error', () => {
    expect(() => siteLink('nowhere.md', 'docs/threads.md', context)).to.throw('docs/threads.md links to nowhere.md');
  });

  it('a link to a source file whose text is a symbol leads to the reference', () => {
    const reference = new Map([['RLock', '/api/ioredisson/interfaces/RLock.md']]);
    const link = (href: string, text: string) => referenceLink(href, text, 'docs/guide/leases.md', reference);
    expect(link('../../lib/api/RLock.ts', 'RLock')).to.equal('/api/ioredisson/interfaces/RLock.md');
    expect(link('../../lib/api/RLock.ts', 'RLock.tryLock()')).to.equal('/api/ioredisson/interfaces/RLock.md#trylock');
    expect(link('../../lib/api/RLock.ts', 'the source')).to.equal(undefined);
    expect(link('../leases.md', 'RLock')).to.equal(undefined);
    expect(link('https://example.org/lib/', 'RLock')).to.equal(undefined);
  });

  it('the id of a heading is what GitHub makes of it', () => {
    expect(slugify('What `unlock()` gives back, and 1 more: A/B')).to.equal('what-unlock-gives-back-and-1-more-ab');
  });
});

describe('the check of the built site', () => {
  let folder: string;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'site-'));
  });

  afterEach(() => {
    fs.rmSync(folder, { recursive: true });
  });

  function problems(pages: Record<string, string>): string[] {
    for (const [name, html] of Object.entries(pages)) {
      fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      fs.writeFileSync(path.join(folder, name), html);
    }
    return problemsOfSite(folder, '/base/');
  }

  it('finds nothing in a site that is whole', () => {
    const page = '<h1 id="a&amp;b">x</h1><a href="/base/sub/page.html#top">y</a><a class="c" href="#a&amp;b">z</a>';
    expect(problems({ 'index.html': page, 'sub/page.html': '<p id="top"><a href="../">up</a></p>' })).to.deep.equal([]);
  });

  it('finds links to pages and headings that are not there, and what is loaded from elsewhere', () => {
    const page = [
      '<a href="/base/missing.html">1</a>',
      '<a href="/base/#nothing">2</a>',
      '<a href="/other/">3</a>',
      '<a href="https://elsewhere.example/">fine</a>',
      '<link rel="preconnect" href="https://fonts.example">',
      '<script src="//cdn.example/x.js"></script>',
    ].join('\n');
    expect(problems({ 'index.html': page })).to.deep.equal([
      'index.html: /base/#nothing: no such heading',
      'index.html: /base/missing.html: no such page',
      'index.html: /other/: is outside of /base/',
      'index.html: loads //cdn.example/x.js',
      'index.html: loads https://fonts.example',
    ]);
  });
});

describe('the reference', () => {
  it('has one heading for all errors of a method', () => {
    const page = '### a()\n\n#### Throws\n\nA\nmore\n\n#### Throws\n\nB\n\n***\n\n### b()\n\n#### Throws\n\nC\n';
    expect(joinThrows(page)).to.equal(
      '### a()\n\n#### Throws\n\n- A\n  more\n- B\n\n***\n\n### b()\n\n#### Throws\n\n- C\n\n',
    );
  });
});

describe('links of the API reference to sources (D13)', () => {
  it('are read with their files', () => {
    const main = 'https://example.org/x/blob/main/';
    const page = `Defined in: [a.ts:1](${main}lib/a.ts#L1)\n[b](${main}lib/b/c.ts#L20) [other](https://example.org/x)`;
    expect(sourcesOf(page, main)).to.deep.equal(['lib/a.ts', 'lib/b/c.ts']);
  });
});
