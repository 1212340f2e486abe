import { buildSync } from 'esbuild';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../buildOutput';

const folder = path.join(__dirname, 'page');

/**
 * Builds the dashboard's page: one HTML file that contains its script and style and loads nothing else; and the
 * content security policy for it.
 */
export function buildPage(): { readonly html: string; readonly policy: string } {
  const script = bundle('main.tsx').text;
  const style = bundle('style.css').text;
  for (const [text, tag] of [
    [script, 'script'],
    [style, 'style'],
  ] as const) {
    if (text.includes(`</${tag}`)) throw new Error(`the dashboard's ${tag} would end in the middle`);
  }
  const empty = fs.readFileSync(path.join(folder, 'index.html'), 'utf8');
  const html = empty.replace('/*STYLE*/', () => style).replace('/*SCRIPT*/', () => script);
  return { html, policy: policyOf(html) };
}

/** Allows the page's script and style by their hashes, requests to its own origin, and nothing else. */
function policyOf(html: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashesOf(html, 'script')}`,
    `style-src ${hashesOf(html, 'style')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function hashesOf(html: string, tag: string): string {
  const texts = [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))].map(([, text]) => text!);
  if (texts.length === 0) return "'none'";
  return texts.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`).join(' ');
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
