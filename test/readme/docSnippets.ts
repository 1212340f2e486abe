import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { codeBlocks, codeTables } from './markdown';

/** A program made of the TypeScript of a page. */
export interface DocSnippet {
  /** From the root of the checkout: `docs/guide/leases.md`. */
  readonly page: string;
  /** Of the fence or of the note, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether it is run, too. */
  readonly runs: boolean;
}

/** What stands around a snippet that imports nothing. */
const CONTEXT = [
  "import { Redisson, TimeUnit } from 'ioredisson';",
  'const redisson = Redisson.create();',
  '// ...',
  'await redisson.shutdown();',
].join('\n');

/** The pages of docs/, without those that tools make. */
export function docPages(): string[] {
  const docs = path.join(projectRoot, 'docs');
  const top = fs
    .readdirSync(docs, { withFileTypes: true })
    .filter(({ name }) => !/^(?:node_modules|api|\..*)$/.test(name));
  return top
    .flatMap((entry) =>
      entry.isDirectory()
        ? fs
            .readdirSync(path.join(docs, entry.name), { recursive: true, encoding: 'utf8' })
            .map((file) => path.posix.join(entry.name, file))
        : [entry.name],
    )
    .filter((file) => file.endsWith('.md'))
    .map((file) => path.posix.join('docs', file))
    .sort();
}

/**
 * The TypeScript of a page, as programs. A snippet that imports nothing stands in {@link CONTEXT}. A comment right
 * above a block says what else there is to know:
 *
 *     <!-- snippet: inside
 *     declare const order: string;
 *     // ...
 *     -->                                  what stands around this one, at `// ...`
 *     <!-- snippet: continues -->          goes on where the block before it ends
 *     <!-- snippet: norun <reason> -->     is compiled, not run
 *     <!-- snippet: tested <file> -->      neither: that test compiles and runs it, with packages that are not here
 *     <!-- snippet: foreign <reason> -->   code without ioredisson: neither
 *     <!-- snippet: table
 *     // ...
 *     -->                                  above a table: the code in its last column, line by line, at `// ...`
 */
export function docSnippets(page: string, markdown: string): DocSnippet[] {
  const snippets: DocSnippet[] = [];
  for (const { line, language, code, note = '' } of codeBlocks(markdown)) {
    if (!/^(?:ts|typescript)$/.test(language)) continue;
    const where = `${page}, line ${line}`;
    const [word, rest = ''] = split(note);
    const previous = snippets.at(-1);
    if (word === 'foreign') {
      if (rest === '' || /ioredisson/.test(code))
        throw new Error(`${where}: "foreign" needs a reason, and no ioredisson`);
    } else if (word === 'tested') {
      if (!fs.existsSync(path.join(projectRoot, rest))) throw new Error(`${where}: there is no test '${rest}'`);
    } else if (word === 'continues') {
      if (previous === undefined) throw new Error(`${where}: nothing to continue`);
      snippets[snippets.length - 1] = { ...previous, code: `${previous.code}\n${code}` };
    } else if (word === 'inside') {
      if (!rest.includes('// ...')) throw new Error(`${where}: "inside" needs a line "// ..."`);
      snippets.push({ page, line, code: within(rest, code), runs: !rest.includes('declare ') });
    } else if (word === 'norun' ? rest !== '' : word === '') {
      const whole = /^import\b/m.test(code) ? code : within(CONTEXT, code);
      snippets.push({ page, line, code: whole, runs: word === '' });
    } else {
      throw new Error(`${where}: cannot have the note "${note}"`);
    }
  }
  for (const { line, note, rows } of codeTables(markdown)) {
    if (!note.includes('// ...')) throw new Error(`${page}, line ${line}: "table" needs a line "// ..."`);
    const code = within(note, rows.map((row) => `await ${row};`).join('\n'));
    snippets.push({ page, line, code, runs: true });
  }
  return snippets;
}

function within(context: string, code: string): string {
  return context.replace(/^[ \t]*\/\/ \.\.\.$/m, () => code);
}

function split(note: string): [word: string, rest: string] {
  const [, word = '', rest = ''] = /^(\S*)\s*([^]*)$/.exec(note) ?? [];
  return [word, rest.trim()];
}
