import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../buildOutput';
import { entryPoints } from '../entryPoints';
import { installFolder } from '../installFolder';
import { problemsOfSite } from './checkSite';
import { joinThrows, sourcesOf } from './reference';

// `npm run docs:build`: the site in docs/.vitepress/dist. `npm run docs:dev`: the same, live while pages are written.

const docs = path.join(projectRoot, 'docs');
const site = path.join(docs, '.vitepress', 'dist');

/** Runs a command of docs/node_modules. Rejects when it fails; it has said why. */
async function run(file: string, ...args: string[]): Promise<void> {
  const script = path.join(docs, 'node_modules', file);
  const child = spawn(process.execPath, [script, ...args], { cwd: docs, stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('exit', resolve));
  if (code !== 0) throw new Error(`${path.basename(file)} ended with ${code}`);
}

async function writeReference(): Promise<void> {
  fs.rmSync(path.join(docs, 'api'), { recursive: true, force: true });
  const entries = entryPoints().map(({ folder }) => path.join(projectRoot, 'lib', folder, 'index.ts'));
  const { repository } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    repository: { url: string };
  };
  const main = `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/main/`;
  // TypeDoc's path begins below the folder that all sources have in common.
  const source = `${main}lib/{path}#L{line}`;
  const options = ['--options', 'typedoc.json', '--sourceLinkTemplate', source, '--logLevel', 'Warn'];
  await run('typedoc/bin/typedoc', ...options, ...entries);
  const api = path.join(docs, 'api');
  for (const file of fs
    .readdirSync(api, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))) {
    const page = path.join(api, file);
    const text = fs.readFileSync(page, 'utf8');
    const missing = sourcesOf(text, main).find((one) => !fs.existsSync(path.join(projectRoot, one)));
    if (missing !== undefined) throw new Error(`${file} has a link to ${missing}, which is not there`);
    fs.writeFileSync(page, joinThrows(text));
  }
}

async function main(): Promise<void> {
  const [command = 'build'] = process.argv.slice(2);
  if (!installFolder(docs, 'VitePress and TypeDoc', console.log)) throw new Error('VitePress and TypeDoc are missing');
  await writeReference();
  if (command === 'dev') return run('vitepress/bin/vitepress.js', 'dev', '.');
  await run('vitepress/bin/vitepress.js', 'build', '.');
  const problems = problemsOfSite(site, process.env['DOCS_BASE'] ?? '/');
  if (problems.length > 0) throw new Error(`the site has faults:\n${problems.join('\n')}`);
  console.log(`The site is in ${path.relative(projectRoot, site)}.`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
