import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';
import { skip } from '../../support';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
export const NO_BROWSER = `no browser is found by CHROME_PATH, nor on the PATH as ${NAMES.join(', ')}`;

/** The browser of this machine: that of CHROME_PATH, else one on the PATH. */
export function chromePath(): string | undefined {
  const given = process.env['CHROME_PATH'];
  if (given !== undefined && given !== '') return fs.existsSync(given) ? given : undefined;
  for (const name of NAMES) {
    try {
      return execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    } catch {
      // The next one.
    }
  }
  return undefined;
}

/** Starts it; skips the tests, and says why, where there is none. */
export async function openBrowser(context: Mocha.Context): Promise<Browser> {
  if (chromePath() === undefined) skip(context, NO_BROWSER);
  return launchBrowser();
}

/** @throws Error where there is none */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = chromePath();
  if (executablePath === undefined) throw new Error(NO_BROWSER);
  // Containers of CI have no user namespaces and a small /dev/shm. What is loaded is our own page.
  const browser = await launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--no-first-run', '--disable-extensions'],
    timeout: 60_000,
  });
  tellEnd(browser);
  return browser;
}

/** A browser that ends by itself only shows as "connection closed": says how it ended, and its last words. */
function tellEnd(browser: Browser): void {
  const child = browser.process();
  let words = '';
  child?.stderr?.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2_000)));
  child?.once('exit', (code, signal) => {
    if (code !== 0) console.log(`      the browser ended: code ${code}, signal ${signal}\n${words}`);
  });
}
