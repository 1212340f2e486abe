import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { RedisServer } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';
import { docPages, type DocSnippet, docSnippets } from './docSnippets';

const PACKAGES = [
  '@nestjs/common',
  '@nestjs/core',
  '@opentelemetry/api',
  '@opentelemetry/instrumentation',
  '@types/express',
  '@types/node',
  'express',
  'fastify',
  'fastify-plugin',
  'ioredis',
  'prom-client',
  'reflect-metadata',
  'rxjs',
  'undici-types',
];

/** The decorators of NestJS, which have parameters. */
const LEGACY: ts.CompilerOptions = { experimentalDecorators: true, emitDecoratorMetadata: true };

// The report of declarations has no programs.
const written = docPages().filter((page) => page !== 'docs/api-report.md');
const pages = written.map((page) => ({
  page,
  snippets: docSnippets(page, fs.readFileSync(path.join(projectRoot, page), 'utf8')),
}));
const all = pages.flatMap(({ snippets }) => snippets);

describe('the TypeScript of docs/', function () {
  this.timeout(240_000);
  let project: ConsumerProject;
  let server: RedisServer;

  before(async () => {
    ensureBuilt();
    server = await RedisServer.start();
    project = new ConsumerProject(PACKAGES);
    project.link('ioredisson', projectRoot);
    for (const snippet of all) {
      project.write(nameOf(snippet, 'mts'), `${snippet.code}\nexport {};\n`);
      project.write(nameOf(snippet, 'mjs'), transpile(snippet).replaceAll('redis://127.0.0.1:6379', server.url));
    }
  });

  after(async () => {
    project?.remove();
    await server?.stop();
  });

  // One program for all of them: most of the time goes into the declarations of Node and of the package.
  for (const [what, options, chosen] of [
    ['', {}, all.filter((snippet) => !isLegacy(snippet))],
    [' with the decorators of NestJS', LEGACY, all.filter(isLegacy)],
  ] as const) {
    it(`compiles${what} (${chosen.length} programs)`, () => {
      const files = chosen.map((snippet) => path.join(project.folder, nameOf(snippet, 'mts')));
      const module = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
      const typeRoots = [path.join(project.folder, 'node_modules', '@types')];
      expect(typeErrors(files, { ...module, typeRoots, ...options })).to.deep.equal([]);
    });
  }

  // Several in a process, since starting Node takes longer than most of them.
  const runnable = all.filter(({ runs }) => runs).map((snippet) => nameOf(snippet, 'mjs'));
  for (let from = 0; from < runnable.length; from += 15) {
    const files = runnable.slice(from, from + 15);
    it(`runs: ${files[0]} to ${files.at(-1)}`, async () => {
      const runner = path.join(__dirname, 'runSnippets.cjs');
      const env = { REDIS_URL: server.url, NODE_NO_WARNINGS: '1' };
      const { output } = await project.run(process.execPath, [runner, project.folder, ...files], env);
      const results = [...output.matchAll(/^\{"file":.*\}$/gm)].map(
        ([line]) => JSON.parse(line) as { file: string; error: string | null },
      );
      expect(results.filter(({ error }) => error !== null)).to.deep.equal([]);
      expect(results.map(({ file }) => file)).to.deep.equal(files, output.slice(-2_000));
    });
  }
});

describe('the reader of the snippets of docs/', () => {
  const read = (...lines: string[]) => docSnippets('page.md', lines.join('\n'));

  it('puts a fragment between a client and its end', () => {
    const [snippet] = read('```ts', 'await redisson.ping();', '```');
    expect(snippet?.code.split('\n').slice(1)).to.deep.equal([
      'const redisson = Redisson.create();',
      'await redisson.ping();',
      'await redisson.shutdown();',
    ]);
  });

  it('leaves what imports something as it is, and joins what continues', () => {
    const snippets = read("```ts\nimport 'a';\n```", '<!-- snippet: continues -->', '```ts\nb();\n```');
    expect(snippets).to.deep.equal([{ page: 'page.md', line: 1, code: "import 'a';\nb();", runs: true }]);
  });

  it('puts a snippet into the context that its comment has; what is only declared there cannot run', () => {
    const text = [
      '<!-- snippet: inside',
      'declare const a: number;',
      '// ...',
      'c();',
      '-->',
      '',
      '```ts',
      'b(a);',
      '```',
    ];
    expect(read(...text)).to.deep.equal([
      { page: 'page.md', line: 7, code: 'declare const a: number;\nb(a);\nc();', runs: false },
    ]);
  });

  it('compiles what is not run; leaves out what is not ours', () => {
    const code = "```ts\nimport 'a';\n```";
    expect(read('<!-- snippet: norun needs a queue -->', code)[0]?.runs).to.equal(false);
    expect(read('<!-- snippet: foreign of redlock -->', code)).to.deep.equal([]);
  });

  it('puts the last column of a table into the context that its comment has', () => {
    const table = ['| want | code |', '| - | - |', '| a | `a(b)` |', '| c | `c()` |', ''];
    expect(read('<!-- snippet: table', "import 'x';", '// ...', '-->', '', ...table)).to.deep.equal([
      { page: 'page.md', line: 1, code: "import 'x';\nawait a(b);\nawait c();", runs: true },
    ]);
    expect(() => read('<!-- snippet: table', '// ...', '-->', '', '| x |', '| - |', '| b |', '')).to.throw('line 1');
  });

  for (const note of ['norun', 'foreign', 'inside', 'continues', 'whatever']) {
    it(`refuses the note "${note}" alone`, () => {
      expect(() => read(`<!-- snippet: ${note} -->`, '```ts', 'a', '```')).to.throw('page.md, line 2');
    });
  }

  it('does not let code of ours go as foreign', () => {
    expect(() => read('<!-- snippet: foreign x -->', "```ts\nimport 'ioredisson';\n```")).to.throw('ioredisson');
  });
});

/** `docs-guide-leases-12.mts` */
function nameOf({ page, line }: DocSnippet, extension: string): string {
  return `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${line}.${extension}`;
}

function isLegacy({ code }: DocSnippet): boolean {
  return code.includes("from '@nestjs/");
}

function transpile(snippet: DocSnippet): string {
  const compilerOptions: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2022,
    ...(isLegacy(snippet) && LEGACY),
  };
  return ts.transpileModule(snippet.code, { compilerOptions }).outputText;
}
