import * as fs from 'node:fs';
import * as path from 'node:path';

interface SitePage {
  readonly html: string;
  readonly ids: ReadonlySet<string>;
}

/**
 * What is wrong with a built site: links to files or headings that are not there, and scripts, styles, fonts or
 * pictures from other servers. A line for each.
 *
 * @param base - the folder that the site is served from, with a slash at both ends
 */
export function problemsOfSite(folder: string, base: string): string[] {
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'));
  const present = new Set(files);
  const pages = new Map(
    files.filter((file) => file.endsWith('.html')).map((file) => [file, readPage(path.join(folder, file))] as const),
  );
  const problems = [...pages].flatMap(([name, { html }]) => [
    ...targetsOf(html).flatMap((href) => {
      const problem = problemOf(href, name, { base, present, pages });
      return problem === undefined ? [] : [`${name}: ${href}: ${problem}`];
    }),
    ...foreignResources(html).map((address) => `${name}: loads ${address}`),
  ]);
  return [...new Set(problems)].sort();
}

function problemOf(
  href: string,
  page: string,
  site: { base: string; present: ReadonlySet<string>; pages: ReadonlyMap<string, SitePage> },
): string | undefined {
  if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(href)) return undefined;
  const url = new URL(href, `http://site${site.base}${page}`);
  if (!url.pathname.startsWith(site.base)) return `is outside of ${site.base}`;
  const target = decodeURI(url.pathname.slice(site.base.length));
  const file = target === '' || target.endsWith('/') ? `${target}index.html` : target;
  if (!site.present.has(file)) return 'no such page';
  const id = decodeURIComponent(url.hash.slice(1));
  if (id === '' || site.pages.get(file) === undefined) return undefined;
  return site.pages.get(file)?.ids.has(id) === true ? undefined : 'no such heading';
}

function readPage(file: string): SitePage {
  const html = fs.readFileSync(file, 'utf8');
  return { html, ids: new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => unescapeHtml(id))) };
}

function targetsOf(html: string): string[] {
  return [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, href = '']) => unescapeHtml(href));
}

/** What the page itself would fetch from elsewhere. */
function foreignResources(html: string): string[] {
  const loaded = html.matchAll(/<(?:script|img|iframe|source|link(?! rel="canonical"))\s[^>]*?(?:src|href)="([^"]*)"/g);
  return [...loaded].flatMap(([, address = '']) => (/^(?:[a-z]+:)?\/\//i.test(address) ? [address] : []));
}

function unescapeHtml(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
