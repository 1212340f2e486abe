import { createHash } from 'node:crypto';
import { PAGE_HTML } from './pageHtml';

/** The page, and the policy under which a browser runs it. */
export const page = { html: PAGE_HTML, policy: policyOf(PAGE_HTML) };

/** The script and the style of the page by their hashes, requests to where it came from, and nothing else. */
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
