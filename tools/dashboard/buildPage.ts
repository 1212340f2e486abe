import { buildSync } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';

const folder = path.join(__dirname, 'page');

/** Makes the dashboard's page: one file of HTML, with its script and its style in it, that asks for nothing else. */
export function buildPage(): string {
  const script = bundle('main.tsx');
  const style = bundle('style.css');
  for (const [text, tag] of [
    [script, 'script'],
    [style, 'style'],
  ] as const) {
    if (text.includes(`</${tag}`)) throw new Error(`the dashboard's ${tag} would end in the middle`);
  }
  const html = fs.readFileSync(path.join(folder, 'index.html'), 'utf8');
  return html.replace('/*STYLE*/', () => style).replace('/*SCRIPT*/', () => script);
}

/** lib/dashboard/pageHtml.ts with the page in it, as JavaScript. */
export function pageModule(): string {
  return `export const PAGE_HTML = ${JSON.stringify(buildPage())};\n`;
}

function bundle(file: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [path.join(folder, file)],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
  });
  return outputFiles[0]!.text.trim();
}
