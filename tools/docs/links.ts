import * as fs from 'node:fs';
import * as path from 'node:path';

/** What links are read from and for. */
export interface LinkContext {
  /** The checkout. */
  readonly root: string;
  /** The repository on the web: `https://github.com/OWNER/ioredisson`. */
  readonly repository: string;
}

/**
 * A link of a page as the site needs it. Pages are written for GitHub: their relative links may lead to any file of the
 * repository. What is no page of the site is linked on GitHub.
 *
 * @param page - the file that has the link, from the root of the checkout: `docs/adr/README.md`
 * @throws Error when the file that the link names does not exist
 */
export function siteLink(href: string, page: string, { root, repository }: LinkContext): string {
  if (/^([a-z][a-z\d+.-]*:|#|\/)/i.test(href)) return href;
  const [, target = '', hash = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  const file = path.posix.join(path.posix.dirname(page), decodeURI(target));
  const full = path.join(root, file);
  if (!fs.existsSync(full)) throw new Error(`${page} links to ${href}, which is not there`);
  const isFolder = fs.statSync(full).isDirectory();
  const source = isFolder && fs.existsSync(path.join(full, 'README.md')) ? path.posix.join(file, 'README.md') : file;
  const site = source === 'CHANGELOG.md' ? 'docs/changelog.md' : source;
  if (/^docs\/.*\.md$/.test(site))
    return `/${site.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md')}${hash}`;
  return `${repository}/${isFolder ? 'tree' : 'blob'}/main/${file.replace(/\/$/, '')}${hash}`;
}

/**
 * Where a link to a source file leads on the site, if its text names a symbol of the reference: `RLock`,
 * `RedissonClient.runInThread`.
 *
 * @param reference - the pages of the reference by the names of their symbols
 */
export function referenceLink(
  href: string,
  text: string,
  page: string,
  reference: ReadonlyMap<string, string>,
): string | undefined {
  if (/^[a-z]+:/.test(href) || !path.posix.join(path.posix.dirname(page), href).startsWith('lib/')) return undefined;
  const [, symbol = '', member] = /^(\w+)(?:\.(\w+))?/.exec(text) ?? [];
  const link = reference.get(symbol);
  return link === undefined || member === undefined ? link : `${link}#${member.toLowerCase()}`;
}

/** The id of a heading as GitHub makes it, so that a link to it works there and on the site. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}
