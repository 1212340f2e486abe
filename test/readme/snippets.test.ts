import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redis } from 'ioredis';
import * as ts from 'typescript';
import { RedisServer, sleepUntil, trackClient } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';
import { type CodeBlock, codeBlocks } from './markdown';

/**
 * Every snippet of the README works: TypeScript is type-checked and run, JavaScript is run, shell is run in an empty
 * project where the package is installed. A comment above a block says otherwise:
 *
 *     <!-- snippet: continues -->         goes on where the block before it ends
 *     <!-- snippet: norun <reason> -->    shell only; the npm scripts it names must exist all the same
 */
const LANGUAGES: Readonly<Record<string, 'ts' | 'js' | 'shell'>> = {
  ts: 'ts',
  typescript: 'ts',
  js: 'js',
  javascript: 'js',
  mjs: 'js',
  cjs: 'js',
  bash: 'shell',
  sh: 'shell',
  shell: 'shell',
  console: 'shell',
};

interface Snippet extends CodeBlock {
  readonly kind: 'ts' | 'js' | 'shell';
}

const readme = path.join(projectRoot, 'README.md');
const snippets = fs.existsSync(readme) ? joinSnippets(codeBlocks(fs.readFileSync(readme, 'utf8'))) : [];
const code = snippets.filter(({ kind }) => kind !== 'shell');
const shell = snippets.filter(({ kind }) => kind === 'shell');

describe('README snippets', function () {
  this.timeout(120_000);
  let project: ConsumerProject;
  // A server of their own, also where REDIS_URL is set: their names are not unique, and it is emptied after each.
  let server: RedisServer;

  before(async () => {
    if (snippets.length === 0) return;
    ensureBuilt();
    project = new ConsumerProject(['ioredis', '@types/node', 'undici-types']);
    project.link('ioredisson', projectRoot);
    linkCommand(project);
    server = await RedisServer.start();
  });

  after(async () => {
    project?.remove();
    await server?.stop();
  });

  afterEach(async () => {
    const client = new Redis(server.url);
    await client.flushall();
    client.disconnect();
  });

  for (const snippet of code) {
    it(`line ${snippet.line} (${snippet.kind}) ${snippet.kind === 'ts' ? 'type-checks and ' : ''}runs`, async () => {
      const file = snippet.kind === 'ts' ? compile(project, snippet) : writeScript(project, snippet);
      const result = await project.run(process.execPath, [file], { REDIS_URL: server.url });
      expect(result.code, result.output).to.equal(0);
    });
  }

  it('B13: what is given the signal in the example ends when the lock is lost, with the loss as its cause', async () => {
    const example = code.find((snippet) => snippet.code.includes('signal: hold.signal'))!;
    const long = { ...example, code: example.code.replace('setTimeout(10,', 'setTimeout(60_000,') };
    expect(long.code).not.to.equal(example.code);
    const redis = trackClient(new Redis(server.url));
    const running = project.run(process.execPath, [compile(project, long)], { REDIS_URL: server.url });
    await sleepUntil(async () => (await redis.exists('import')) === 1, { timeout: 20_000 });
    await redis.del('import');
    const { code: exitCode, output } = await running;
    expect(exitCode).to.equal(1);
    expect(output).to.contain('AbortError').and.contain('LOCK_LOST');
  });

  for (const snippet of shell) {
    const [word, ...reason] = (snippet.note ?? '').split(' ');
    if (word === 'norun') {
      it(`line ${snippet.line} (shell) says why it is not run, and names scripts that exist`, () => {
        expect(reason, 'a reason').not.to.have.lengthOf(0);
        expect(unknownScripts(snippet.code)).to.deep.equal([]);
      });
    } else {
      it(`line ${snippet.line} (shell) runs`, async () => {
        const bin = path.join(project.folder, 'node_modules', '.bin');
        const env = { REDIS_URL: server.url, PATH: `${bin}${path.delimiter}${process.env['PATH'] ?? ''}` };
        const result = await project.run('sh', ['-ec', snippet.code.replace(/^\$ /gm, '')], env);
        expect(result.code, result.output).to.equal(0);
      });
    }
  }
});

describe('the reader of snippets', () => {
  const markdown = ['<!-- snippet: norun why -->', '', '```bash', 'a', '```', '  ~~~ts', '  b', '    c', '  ~~~'].join(
    '\n',
  );

  it('finds blocks, their notes and their lines', () => {
    expect(codeBlocks(markdown)).to.deep.equal([
      { line: 3, language: 'bash', code: 'a', note: 'norun why' },
      { line: 6, language: 'ts', code: 'b\n  c', note: undefined },
    ]);
  });

  it('refuses a block without an end', () => {
    expect(() => codeBlocks('```ts\nx')).to.throw('line 1');
  });

  it('joins what continues', () => {
    const joined = joinSnippets(codeBlocks('```ts\na\n```\n<!-- snippet: continues -->\n```ts\nb\n```'));
    expect(joined.map((snippet) => snippet.code)).to.deep.equal(['a\nb']);
  });

  it('lets nothing but shell go without being run', () => {
    expect(() => joinSnippets(codeBlocks('<!-- snippet: norun -->\n```ts\na\n```'))).to.throw('line 2');
  });
});

function joinSnippets(blocks: readonly CodeBlock[]): Snippet[] {
  const joined: Snippet[] = [];
  for (const block of blocks) {
    const kind = LANGUAGES[block.language];
    if (kind === undefined) continue;
    const previous = joined.at(-1);
    if (block.note === 'continues' && previous?.kind === kind) {
      joined[joined.length - 1] = { ...previous, code: `${previous.code}\n${block.code}` };
    } else if (block.note === undefined || (kind === 'shell' && block.note.startsWith('norun'))) {
      joined.push({ ...block, kind });
    } else {
      throw new Error(`line ${block.line}: a ${kind} block cannot have the note "${block.note}"`);
    }
  }
  return joined;
}

/** Type-checks a snippet and returns its JavaScript. Modules, since snippets await at their top level. */
function compile(project: ConsumerProject, snippet: Snippet): string {
  const file = project.write(`line${snippet.line}.mts`, `${snippet.code}\nexport {};\n`);
  const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const typeRoots = [path.join(project.folder, 'node_modules', '@types')];
  expect(typeErrors([file], { ...options, typeRoots })).to.deep.equal([]);
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(fs.readFileSync(file, 'utf8'), { compilerOptions });
  return project.write(`line${snippet.line}.mjs`, outputText);
}

function writeScript(project: ConsumerProject, snippet: Snippet): string {
  const extension = /\brequire\(/.test(snippet.code) ? 'cjs' : 'mjs';
  return project.write(`line${snippet.line}.${extension}`, snippet.code);
}

/** As `npm install` does it. */
function linkCommand(project: ConsumerProject): void {
  const bin = path.join(project.folder, 'node_modules', '.bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.symlinkSync(path.join(projectRoot, 'dist', 'operators', 'cli', 'main.js'), path.join(bin, 'ioredisson'));
}

function unknownScripts(code: string): string[] {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...code.matchAll(/\bnpm (?:run )?([\w:-]+)/g)].map(([, script = '']) => script);
  const npmsOwn = ['ci', 'install', 'i', 'run'];
  return named.filter((script) => !npmsOwn.includes(script) && !Object.hasOwn(scripts, script));
}
