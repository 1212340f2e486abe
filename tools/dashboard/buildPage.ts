import { buildSync } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../buildOutput';

const folder = path.join(__dirname, 'page');

/** Makes the dashboard's page: one file of HTML, with its script and its style in it, that asks for nothing else. */
export function buildPage(): string {
  const script = bundle('main.tsx').text;
  const style = bundle('style.css').text;
  for (const [text, tag] of [
    [script, 'script'],
    [style, 'style'],
  ] as const) {
    if (text.includes(`</${tag}`)) throw new Error(`the dashboard's ${tag} would end in the middle`);
  }
  const html = fs.readFileSync(path.join(folder, 'index.html'), 'utf8');
  return html.replace('/*STYLE*/', () => style).replace('/*SCRIPT*/', () => script);
}

/** The files that went into the page. */
export function pageInputs(): string[] {
  return bundle('main.tsx').inputs;
}

function bundle(file: string): { readonly text: string; readonly inputs: string[] } {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: projectRoot,
    entryPoints: [path.join(folder, file)],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
  });
  return { text: outputFiles[0]!.text.trim(), inputs: Object.keys(metafile.inputs) };
}
