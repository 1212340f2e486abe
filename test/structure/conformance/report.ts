import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { LEFT_OUT } from './leftOut';
import { SUITES } from './scenarios';

const root = path.resolve(__dirname, '..', '..', '..');
/** Where the report is committed. */
export const REPORT_FILE = path.join(root, 'docs', 'conformance.md');
const ID = /\b[A-Z]{1,2}-\d{2}\b/g;

/** What is known of one scenario. */
export interface Scenario {
  readonly id: string;
  readonly upstream: string;
  /** The test files that quote the id in a string, from the root. */
  readonly files: readonly string[];
  readonly leftOut: string | undefined;
}

/** id -> test files. Read once: it takes a second to parse them all. */
let quoted: Map<string, Set<string>> | undefined;

/** Every scenario, in the order of the suites. */
export function scenarios(): readonly { readonly suite: string; readonly scenarios: readonly Scenario[] }[] {
  const found = (quoted ??= quotedIds());
  return SUITES.map(({ suite, scenarios: all }) => ({
    suite,
    scenarios: Object.entries(all).map(([id, upstream]) => ({
      id,
      upstream,
      files: [...(found.get(id) ?? [])].sort(),
      leftOut: LEFT_OUT[id],
    })),
  }));
}

/** The report as Markdown. */
export function report(): string {
  const suites = scenarios();
  const all = suites.flatMap((suite) => suite.scenarios);
  const tested = all.filter(({ files }) => files.length > 0).length;
  const lines = [
    '# Conformance',
    '',
    '<!-- Generated from the names of the tests: npm run docs:conformance -->',
    '',
    "Redisson's own test suites as scenarios, and the tests here that quote their ids. Times are scaled down; what the",
    'upstream tests assert in background threads is awaited here; "never two inside" is asserted, not only that all finish.',
    '',
    `${tested} of ${all.length} scenarios are tests; the others are left out for the reason given.`,
    '[test/README.md](../test/README.md) explains the ids.',
  ];
  for (const { suite, scenarios: some } of suites) {
    lines.push('', `## ${suite}`, '', '| id | upstream | here |', '|---|---|---|');
    for (const { id, upstream, files, leftOut } of some) {
      lines.push(`| ${id} | ${upstream} | ${files.length > 0 ? files.map(link).join(', ') : `left out: ${leftOut}`} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function link(file: string): string {
  return `[${file.replace(/^test\//, '').replace(/(\.test)?\.ts$/, '')}](../${file})`;
}

/** id -> test files in which a string quotes it. Comments do not count. */
function quotedIds(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of typeScriptFiles(path.join(root, 'test'))) {
    const name = path.relative(root, file).split(path.sep).join('/');
    if (name.startsWith('test/structure/')) continue;
    const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
        for (const [id] of node.text.matchAll(ID)) {
          let files = found.get(id);
          if (files === undefined) found.set(id, (files = new Set()));
          files.add(name);
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

function typeScriptFiles(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => path.join(folder, file));
}
