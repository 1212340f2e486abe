import * as fs from 'node:fs';
import * as path from 'node:path';

/** A page in the sidebar of the site. */
export interface PageLink {
  readonly text: string;
  /** From the root of the site, without `.md`: `/guide/leases`. */
  readonly link: string;
}

/** A part of the sidebar. */
export interface PageGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly (PageLink | PageGroup)[];
}

/** What the sidebar shows of docs/. A folder stands for all its pages, by name, after those that are listed. */
const GROUPS: readonly { text: string; pages?: readonly string[]; folder?: string; collapsed?: boolean }[] = [
  {
    text: 'Guide',
    folder: 'guide',
    pages: [
      'guide/first-lock',
      'guide/which-lock',
      'guide/leases',
      'guide/lost-locks',
      'guide/fencing',
      'threads',
      'guide/fair-locks',
      'guide/read-write-locks',
      'guide/semaphores',
    ],
  },
  { text: 'Recipes', folder: 'recipes' },
  { text: 'Coming from', folder: 'migration' },
  { text: 'When something fails', pages: ['something-hangs', 'reliability', 'errors'] },
  {
    text: 'In your application',
    pages: ['configuration', 'frameworks', 'nestjs', 'bundlers', 'testing', 'security', 'threat-model'],
  },
  { text: 'In operation', pages: ['observability', 'dashboard', 'inspection', 'doctor', 'cli'] },
  {
    text: 'Background',
    collapsed: true,
    pages: ['differences', 'managed', 'interop', 'benchmarks', 'scaling', 'architecture', 'spec/', 'changelog'],
  },
  { text: 'Decisions', collapsed: true, folder: 'adr', pages: ['adr/'] },
];

/** Pages that tools write for maintainers. They are built and linked to, but are not in the sidebar. */
export const REPORTS: readonly string[] = ['/api-report', '/compatibility', '/conformance', '/wire'];

/** The order of the kinds in the reference, and what they are called. */
const KINDS: Readonly<Record<string, string>> = {
  classes: 'Classes',
  interfaces: 'Interfaces',
  functions: 'Functions',
  'type-aliases': 'Types',
  variables: 'Variables',
};

/**
 * The sidebar for the Markdown files of docs/: everything but the reference. Listed pages that are not there are left
 * out.
 */
export function guideSidebar(docs: string): PageGroup[] {
  return GROUPS.map(({ text, pages = [], folder, collapsed }) => {
    const listed = pages.filter((page) => fs.existsSync(path.join(docs, sourceOf(page))));
    const rest = folder === undefined ? [] : pagesIn(docs, folder).filter((page) => !listed.includes(page));
    const items = [...listed, ...rest].map((page) => ({
      text: titleOf(path.join(docs, sourceOf(page))),
      link: `/${page}`,
    }));
    return { text, ...(collapsed === true && { collapsed }), items };
  }).filter(({ items }) => items.length > 0);
}

/** The sidebar of the reference that TypeDoc has written: an entry point, its kinds, their members. */
export function referenceSidebar(docs: string): PageGroup[] {
  const api = path.join(docs, 'api');
  if (!fs.existsSync(api)) return [];
  const modules = fs
    .readdirSync(api, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.endsWith('/index.md'))
    .map((file) => path.posix.dirname(file))
    .sort();
  return modules.map((name) => ({
    text: name,
    collapsed: name.includes('/'),
    items: [{ text: 'Overview', link: `/api/${name}/` }, ...kindsOf(api, name)],
  }));
}

/** The pages of the reference by the names of their symbols; of two with one name, that of the package itself. */
export function referencePages(docs: string): Map<string, string> {
  const links = linksOf(referenceSidebar(docs)).filter((link) => !link.endsWith('/'));
  return new Map(links.reverse().map((link) => [path.posix.basename(link), `${link}.md`]));
}

/** The pages of the guide's sidebar, each once. */
export function linksOf(groups: readonly PageGroup[]): string[] {
  return groups.flatMap(({ items }) => items.flatMap((item) => ('link' in item ? [item.link] : linksOf([item]))));
}

function kindsOf(api: string, module: string): PageGroup[] {
  return Object.entries(KINDS).flatMap(([kind, text]) => {
    const folder = path.join(api, module, kind);
    if (!fs.existsSync(folder)) return [];
    const names = fs.readdirSync(folder).map((file) => path.basename(file, '.md'));
    const items = names.sort().map((name) => ({ text: name, link: `/api/${module}/${kind}/${name}` }));
    return [{ text, collapsed: true, items }];
  });
}

/** `adr/` for its README.md, which GitHub shows for the folder. */
function sourceOf(page: string): string {
  return page.endsWith('/') ? `${page}README.md` : `${page}.md`;
}

function pagesIn(docs: string, folder: string): string[] {
  if (!fs.existsSync(path.join(docs, folder))) return [];
  return fs
    .readdirSync(path.join(docs, folder))
    .filter((file) => file.endsWith('.md'))
    .sort((a, b) =>
      a === 'README.md' || a === 'index.md' ? -1 : b === 'README.md' || b === 'index.md' ? 1 : a < b ? -1 : 1,
    )
    .map((file) => (/^(README|index)\.md$/.test(file) ? `${folder}/` : `${folder}/${path.basename(file, '.md')}`));
}

/** The title of its front matter, else the first heading without its Markdown, else the name of the file. */
function titleOf(file: string): string {
  const text = fs.readFileSync(file, 'utf8');
  const title = /^---\n(?:.*\n)*?title: (.+)\n/.exec(text)?.[1] ?? /^# (.+)$/m.exec(text)?.[1];
  return title?.replaceAll(/[`*]/g, '').trim() ?? path.basename(file, '.md');
}
