import * as fs from 'node:fs';
import * as path from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { projectRoot } from '../../../tools/buildOutput';
import { launchBrowser } from './browser';

// Takes pictures of the built site: npm run docs:build && npm run docs:pictures [-- <folder>]. Checks that no page is
// wider than a phone, and that the search finds the runbook, too.

const site = path.join(projectRoot, 'docs', '.vitepress', 'dist');
const [, , folder = path.join(projectRoot, 'docs', 'images')] = process.argv;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};

const DESK = { width: 1360, height: 840 };
const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

const PICTURES = [
  { name: 'home-light', page: '', scheme: 'light', viewport: DESK },
  { name: 'home-dark', page: '', scheme: 'dark', viewport: DESK },
  { name: 'home-phone', page: '', scheme: 'light', viewport: PHONE },
  { name: 'which-lock-light', page: 'guide/which-lock.html', scheme: 'light', viewport: DESK },
  { name: 'which-lock-dark', page: 'guide/which-lock.html', scheme: 'dark', viewport: DESK },
  { name: 'which-lock-phone', page: 'guide/which-lock.html', scheme: 'light', viewport: PHONE },
  { name: 'guide-light', page: 'guide/fencing.html', scheme: 'light', viewport: DESK },
  { name: 'guide-dark', page: 'guide/leases.html', scheme: 'dark', viewport: DESK },
  { name: 'api-light', page: 'api/ioredisson/interfaces/RLock.html', scheme: 'light', viewport: DESK },
  { name: 'benchmarks-light', page: 'benchmarks.html#in-short', scheme: 'light', viewport: DESK },
  { name: 'benchmarks-dark', page: 'benchmarks.html#in-short', scheme: 'dark', viewport: DESK },
  { name: 'phone', page: 'guide/first-lock.html', scheme: 'light', viewport: PHONE },
] as const;

/** Pages of which no picture is kept; they too must not be wider than a phone. */
const NARROW = ['', 'reliability.html', 'benchmarks.html', 'api/ioredisson/interfaces/RLock.html', 'differences.html'];

/** What a person types whose program waits; the first result must be a section of the runbook. */
const TROUBLE = ['stuck', 'deadlock', 'hang'];

async function main(): Promise<void> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const file = path.join(site, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    if (!fs.existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    return fs.createReadStream(file).pipe(response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await launchBrowser();
  const foreign: string[] = [];
  const unhelpful: string[] = [];
  try {
    const page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    for (const { name, page: address, scheme, viewport } of PICTURES) {
      await page.setViewport(viewport);
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto('about:blank');
      await page.goto(`${base}/${address}`, { waitUntil: 'networkidle0' });
      const file = path.join(folder, `site-${name}.png`);
      await page.screenshot({ path: file });
      console.log(`${path.basename(file)}: ${(fs.statSync(file).size / 1_000).toFixed(0)} kB`);
    }
    await page.setViewport(DESK);
    for (const word of TROUBLE) {
      await page.goto(`${base}/`, { waitUntil: 'networkidle0' });
      await page.click('.VPNavBarSearch button');
      await (await page.waitForSelector('.search-input'))?.type(word);
      await page.waitForSelector('.results .result');
      const address = String(await page.evaluate('document.querySelector(".results .result").getAttribute("href")'));
      if (!address.startsWith('/something-hangs.html')) unhelpful.push(`${word}: ${address}`);
      if (word === TROUBLE[0]) await page.screenshot({ path: path.join(folder, 'site-search.png') });
    }
    await page.setViewport(PHONE);
    for (const address of NARROW) {
      await page.goto(`${base}/${address}`, { waitUntil: 'networkidle0' });
      const width = await page.evaluate('document.documentElement.scrollWidth');
      if (width !== PHONE.width) console.log(`${address}: ${String(width)} pixels wide on a phone`);
    }
  } finally {
    await browser.close();
    server.close();
  }
  if (unhelpful.length > 0) throw new Error(`the search does not find the runbook first: ${unhelpful.join(', ')}`);
  if (foreign.length > 0) throw new Error(`the site asks other servers: ${foreign.join(', ')}`);
}

void main();
