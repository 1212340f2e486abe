import { expect } from 'chai';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import * as path from 'node:path';
import type { Browser, Page } from 'puppeteer-core';
import { COLOUR_RULES, expectAccessible } from '../support/axeCheck';
import { launchBrowser } from '../support/browser';
import { trackClient } from '../../support';
import { SCENES, type SceneName } from './scenes';
import type { Play, Stage } from './Stage';

interface Found {
  readonly innerText: string;
}
/** What runs in the page sees this one. */
declare const document: {
  readonly documentElement: { readonly scrollWidth: number };
  querySelector(selector: string): Found | null;
};

/**
 * Who has not seen a scene must be able to answer from the words of the page: who has it, since when, why nobody gets
 * in, what to do. HOST and PID are those of the holder.
 */
const WORDS: Readonly<Record<SceneName, readonly RegExp[]>> = {
  three: [/Held by process PID on HOST/, /Held for/, /ends when it is released/, /check what the named process does/],
  killed: [
    /its holder, process PID on HOST, is not connected/,
    /Held for/,
    /It ends in/,
    /Check whether that process still runs/,
  ],
  frozen: [/HOST · PID/, /Held for/, /frozen, or its event loop is busy/, /SIGSTOP/],
  stuck: [/process PID on HOST/, /Held for/, /will not end by itself/, /If it makes no progress, restart it/],
  deadLock: [/HOST · PID/, /Held for/, /has waited .* for account:2/s, /Restart one of these processes/],
  healthy: [/HOST · PID/, /Held for/, /Nobody waits/],
  busy: [/HOST · PID/, /Held for/, /its main loop has been silent for/, /If it makes no progress, restart it/],
  permits: [/No permit is left/, /A caller has waited for/, /ioredisson permits --add/, /If you must/],
  free: [/1 permit left/, /A caller has waited for/, /the caller wants more/, /If you must/],
  latch: [/The latch is closed: 1 count to go/, /A caller has waited for/, /ioredisson latch --open/, /If you must/],
  noExpiry: [/HOST · PID/, /never expires/, /Ask whoever set it/],
  wrongType: [/holds data that are no lock/, /another name/],
  prefixed: [/Held by process PID on HOST/, /Nobody waits/],
  leader: [/Held by process PID on HOST/, /A caller has waited for .*, as expected/],
  left: [/Held by process/, /ends when it is released/],
  ordered: [/Held by process PID on HOST/, /ends when it is released/],
  throttle: [/(?:No permit is|permits?) left/, /give them back/],
  many: [/process PID on HOST/, /Held for/, /will not end by itself/, /If it makes no progress, restart it/],
};

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1360, height: 840 };
const SHOWN_MS = 60_000;
/** Pictures of the scenes are kept in this folder, for somebody to look at. */
const FOLDER = process.env['SCENE_PICTURES'];

/** Somebody with a browser: reads the page of each scene, and looks at it light, dark, on a desk and on a phone. */
export class Spectator {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<Spectator> {
    if (FOLDER !== undefined) fs.mkdirSync(FOLDER, { recursive: true });
    const browser = await launchBrowser();
    trackClient({ stop: () => browser.close() });
    return new Spectator(browser);
  }

  /** Opens the page of a scene, and waits until it has said all that it must. Nothing else changes while it is read. */
  async read(name: SceneName, { stage, processes }: Play): Promise<Page> {
    const page = await this.#open(stage, SCENES[name].lock);
    for (const words of WORDS[name]) {
      const pattern = words.source.replace('PID', String(processes[0]?.pid)).replace('HOST', hostname());
      const wait = page.waitForFunction(
        (source: string) => new RegExp(source, 's').test(document.querySelector('.detail')?.innerText ?? ''),
        { timeout: SHOWN_MS, polling: 100 },
        pattern,
      );
      await wait.catch(async (error: unknown) => {
        const text = await page.evaluate(() => document.querySelector('.detail')?.innerText);
        throw new Error(`${name} does not say ${pattern}: ${text}`, { cause: error });
      });
    }
    return page;
  }

  /** The list of a stage. */
  list(stage: Stage): Promise<Page> {
    return this.#open(stage);
  }

  /** axe-core finds nothing, and nothing is wider than a phone, whatever the colours. Closes the page. */
  async look(page: Page, what: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
      await page.setViewport(viewport);
      for (const [scheme, rules] of [
        ['light', undefined],
        ['dark', COLOUR_RULES],
      ] as const) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        const view = `${what}-${scheme}-${size}`;
        if (FOLDER !== undefined) await page.screenshot({ path: path.join(FOLDER, `${view}.png`) });
        await expectAccessible(page, view, rules);
      }
    }
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, what).to.equal(PHONE.width);
    await page.close();
  }

  async #open({ base }: Stage, lock?: string): Promise<Page> {
    const page = await this.#browser.newPage();
    page.setDefaultTimeout(SHOWN_MS);
    await page.goto(`${base}/${lock === undefined ? '' : `#lock=${encodeURIComponent(lock)}`}`);
    await page.waitForSelector(lock === undefined ? 'a.row' : '.detail .verdict');
    await page.waitForSelector('.health.ok');
    return page;
  }
}
