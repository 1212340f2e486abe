import { expect } from 'chai';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import * as path from 'node:path';
import type { Browser, Page } from 'puppeteer-core';
import { ensureBuilt } from '../../tools/buildOutput';
import { makeScene, type Scene, SCENES, type SceneName, type World } from '../dashboard/scenes/scenes';
import { COLOUR_RULES, expectAccessible } from './support/axeCheck';
import { openBrowser } from './support/browser';

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
  latch: [/The latch is closed: 1 count to go/, /A caller has waited for/, /ioredisson latch --open/, /If you must/],
  noExpiry: [/HOST · PID/, /never expires/, /Ask whoever set it/],
  leader: [/Held by process PID on HOST/, /A caller has waited for .*, as expected/],
  left: [/Held by process/, /ends when it is released/],
  ordered: [/Held by process PID on HOST/, /ends when it is released/],
  throttle: [/No permit is left/, /give them back/],
  many: [/process PID on HOST/, /Held for/, /will not end by itself/, /If it makes no progress, restart it/],
};

/** `SCENES=stuck,busy` plays these only. */
const chosen = process.env['SCENES']?.split(',');
const PLAYED = (Object.entries(SCENES) as [SceneName, Scene][]).filter(([name]) => chosen?.includes(name) ?? true);

/** Pictures of the scenes are kept in this folder, for somebody to look at. */
const folder = process.env['SCENE_PICTURES'];
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1360, height: 840 };
const SHOWN_MS = 60_000;

describe('scenes in a browser', function () {
  this.timeout(300_000);
  let browser: Browser;
  const ripening = new Map<SceneName, World>();

  before(async function () {
    browser = await openBrowser(this);
    ensureBuilt();
    if (folder !== undefined) fs.mkdirSync(folder, { recursive: true });
    const long = PLAYED.filter(([, { ripensMs }]) => ripensMs > 20_000);
    await Promise.all(long.map(async ([name, scene]) => ripening.set(name, await makeScene(scene))));
  });

  after(() => browser?.close());

  for (const [name, scene] of PLAYED) {
    it(`${scene.title}: who, since when, why, what to do; axe-core finds nothing; nothing is wider than a phone`, async () => {
      const world = ripening.get(name) ?? (await makeScene(scene));
      await world.ripe;
      const page = await browser.newPage();
      page.setDefaultTimeout(SHOWN_MS);
      try {
        const { pid } = world.processes[0]!;
        await show(page, world, { lock: scene.lock });
        for (const words of WORDS[name]) {
          const pattern = words.source.replace('PID', String(pid)).replace('HOST', hostname());
          await page.waitForFunction(
            (source: string) => new RegExp(source, 's').test(document.querySelector('.detail')?.innerText ?? ''),
            { timeout: SHOWN_MS, polling: 100 },
            pattern,
          );
        }
        for (const [scheme, rules] of [
          ['light', undefined],
          ['dark', COLOUR_RULES],
        ] as const) {
          await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
          for (const [size, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
            for (const lock of [undefined, scene.lock]) {
              await page.setViewport(viewport);
              await show(page, world, lock === undefined ? {} : { lock });
              const what = `${name}-${lock === undefined ? 'list' : 'lock'}-${scheme}-${size}`;
              if (folder !== undefined) await page.screenshot({ path: path.join(folder, `${what}.png`) });
              if (size === 'phone') {
                const width = await page.evaluate(() => document.documentElement.scrollWidth);
                expect(width, what).to.equal(PHONE.width);
              }
              await expectAccessible(page, what, rules);
            }
          }
        }
      } finally {
        await page.close();
        await world.close();
      }
    });
  }

  async function show(page: Page, { base }: World, { lock }: { readonly lock?: string }): Promise<void> {
    await page.goto('about:blank');
    await page.goto(`${base}/${lock === undefined ? '' : `#lock=${encodeURIComponent(lock)}`}`);
    await page.waitForSelector(lock === undefined ? 'a.row' : '.detail .verdict');
    await page.waitForSelector('.health.ok');
  }
});
