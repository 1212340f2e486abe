import * as fs from 'node:fs';
import * as path from 'node:path';
import { defineConfig } from 'vitepress';
import { inlineChart } from '../../tools/docs/charts';
import { referenceLink, siteLink, slugify } from '../../tools/docs/links';
import { guideSidebar, referencePages, referenceSidebar } from '../../tools/docs/pages';

const docs = path.resolve(__dirname, '..');
const root = path.resolve(docs, '..');
const { version, repository } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  version: string;
  repository: { url: string };
};
const context = { root, repository: repository.url.replace(/^git\+/, '').replace(/\.git$/, '') };
const guide = guideSidebar(docs);
const reference = referencePages(docs);

/** Where Markdown of a page comes from, for the links in it. */
const INCLUDED: Readonly<Record<string, string>> = { 'changelog.md': 'CHANGELOG.md' };

/** The headings of a page of the reference that name something. */
function namesIn(source: string): string {
  const headings = source.match(/^#{1,3} .+$/gm) ?? [];
  return headings.filter((line) => /^# |\(\)$|^### (?!Returns|Parameters|Throws)/.test(line)).join('\n\n');
}

export default defineConfig({
  title: 'ioredisson',
  description: "Redisson's distributed locks and synchronizers for Node.js, on ioredis",
  lang: 'en',
  // The folder of the server that the site is put into: /ioredisson/ for GitHub Pages.
  base: process.env['DOCS_BASE'] ?? '/',
  srcExclude: ['node_modules/**'],
  rewrites: { 'adr/README.md': 'adr/index.md', 'spec/README.md': 'spec/index.md' },
  metaChunk: true,
  transformPageData: ({ relativePath, frontmatter }) => {
    if (relativePath.startsWith('api/')) frontmatter['editLink'] = false;
  },
  markdown: {
    anchor: { slugify },
    languageAlias: { acl: 'ini' },
    config: (md) => {
      // Charts stand in the page itself, so that they have the colours of its theme.
      const image = md.renderer.rules.image!;
      md.renderer.rules.image = (tokens, i, ...rest) => {
        const file = /^images\/bench-[\w-]+\.svg$/.exec(tokens[i]?.attrGet('src') ?? '')?.[0];
        if (file === undefined) return image(tokens, i, ...rest);
        return inlineChart(fs.readFileSync(path.join(docs, file), 'utf8'));
      };
      // A chain of calls in a narrow column breaks before a dot, not inside a word.
      const code = md.renderer.rules.code_inline!;
      md.renderer.rules.code_inline = (...all) => code(...all).replaceAll(').', ')<wbr>.');
      // Before VitePress looks at the links, in the order of the tokens.
      md.core.ruler.push('site-links', ({ tokens, env }) => {
        const page = (env as { relativePath: string }).relativePath;
        const source = INCLUDED[page] ?? `docs/${page}`;
        if (source.startsWith('docs/api/')) return;
        for (const { children } of tokens) {
          children?.forEach((token, i) => {
            if (token.type !== 'link_open') return;
            const href = token.attrGet('href') ?? '';
            const text = children[i + 1]?.content ?? '';
            token.attrSet('href', referenceLink(href, text, source, reference) ?? siteLink(href, source, context));
          });
        }
      });
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/first-lock', activeMatch: '^/guide/' },
      { text: 'Recipes', link: '/recipes/cron-once', activeMatch: '^/recipes/' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Reliability', link: '/reliability' },
      { text: 'Benchmarks', link: '/benchmarks' },
      { text: 'Scaling', link: '/scaling' },
      {
        text: `v${version}`,
        items: [
          { text: 'Changelog', link: '/changelog' },
          { text: 'Contributing', link: `${context.repository}/blob/main/CONTRIBUTING.md` },
        ],
      },
    ],
    sidebar: {
      '/': guide as never,
      '/api/': referenceSidebar(docs) as never,
    },
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // Whoever types "stuck" or "hang" has trouble now: the runbook comes first. (This runs in the browser.)
          searchOptions: {
            boostDocument: (id: string, term: string) =>
              id.includes('/something-hangs') && /^(?:stuck|hang|deadlock)/.test(term) ? 4 : 1,
          },
        },
        // Of the reference only the names: its texts would be half of the index, and take half of the time to make.
        _render: (source, env, md) => {
          const { relativePath } = env as { relativePath: string };
          if (relativePath.startsWith('api/')) return md.render(namesIn(source), env);
          // The verdict is called dead-lock, which is two words in the index.
          if (relativePath === 'something-hangs.md') source = source.replace(/^## Dead-lock$/m, '$&\n\nA deadlock.');
          return md.render(source, env);
        },
      },
    },
    socialLinks: [{ icon: 'github', link: context.repository }],
    editLink: { pattern: `${context.repository}/edit/main/docs/:path` },
    footer: { message: 'Apache-2.0. Not affiliated with Redisson.' },
  },
});
