import { expect } from 'chai';
import { once } from 'node:events';
import type { Browser, Page } from 'puppeteer-core';
import { Redisson } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import { RedisServer, trackClient } from '../support';
import { COLOUR_RULES, expectAccessible } from './support/axeCheck';
import { openBrowser } from './support/browser';
import { startHolder } from './support/startHolder';
import type { ObjectReport } from '../../lib/operators/inspection';
import { FakeSource, report } from '../dashboard/support/FakeSource';
import { dashboardOf, serve } from '../dashboard/support/world';

interface Found {
  readonly innerText: string;
  readonly disabled: boolean;
  readonly clientWidth: number;
  readonly parentElement: Found;
  matches(selector: string): boolean;
  getBoundingClientRect(): { readonly width: number; readonly height: number };
}
/** What runs in the page sees this one. */
declare const document: {
  readonly activeElement: Found | null;
  querySelector(selector: string): Found | null;
  querySelectorAll(selector: string): Iterable<Found>;
};

/** What a loaded machine may take until a page shows something, in ms. */
const SHOWN_MS = 30_000;

describe('the dashboard in a browser', function () {
  this.timeout(90_000);
  let browser: Browser;
  /** For the locks of the tests alone: a list may be empty. */
  let server: RedisServer;
  let page: Page;
  let problems: string[];

  before(async function () {
    browser = await openBrowser(this);
    server = trackClient(await RedisServer.start());
  });

  after(() => browser?.close());

  beforeEach(async () => {
    problems = [];
    page = await browser.newPage();
    page.setDefaultTimeout(SHOWN_MS);
    await page.setViewport({ width: 1360, height: 840 });
    page.on('pageerror', (error) => problems.push(String(error)));
    // Whatever the policy of the page forbids, or cannot be loaded, is said there.
    page.on('console', (message) => {
      if (
        message.type() === 'error' &&
        !/status of (?:4|5)\d\d|ERR_(?:INCOMPLETE|CONNECTION|INTERNET)/.test(message.text())
      )
        problems.push(message.text());
    });
  });

  afterEach(async () => {
    await page.close();
    expect(problems).to.deep.equal([]);
  });

  /** Waits until an element has a text that matches. */
  async function shows(selector: string, pattern: RegExp): Promise<string> {
    const found = await page.waitForFunction(
      (one: string, source: string) => {
        const texts = [...document.querySelectorAll(one)].map((element) => element.innerText);
        return texts.find((text) => new RegExp(source, 's').test(text));
      },
      { timeout: SHOWN_MS, polling: 50 },
      selector,
      pattern.source,
    );
    return (await found.jsonValue())!;
  }

  /** Of a lock whose holder may be there it is behind "if you must". */
  async function clickRelease(): Promise<void> {
    await page.waitForSelector('.detail .must');
    if ((await page.$('.detail .must[open]')) === null) await page.click('.detail .must summary');
    await page.waitForSelector('.detail .danger', { visible: true });
    await page.click('.detail .danger');
  }

  async function leaseShare(): Promise<number> {
    return page.$eval('.detail .fill', (one) => {
      const bar = one as unknown as Found;
      return bar.getBoundingClientRect().width / bar.parentElement.clientWidth;
    });
  }

  it('a lock appears, its lease bar moves, a waiter is shown, and it is free again', async () => {
    const redisson = trackClient(Redisson.create(server.url));
    const base = await serve(trackClient(createDashboard({ redisson })));
    await page.goto(`${base}/`);
    await shows('.empty', /No locks/);
    const holder = trackClient(Redisson.create(server.url));
    const hold = await holder.getLock('order:7').acquire({ leaseTime: 60_000 });
    await shows('a.row', /order:7.*held/);
    await page.click('a.row');
    await shows('.detail', new RegExp(`Holder.*${holder.getId()}`));
    await shows('.detail .connection', /connected/);
    const full = await leaseShare();
    expect(full).to.be.within(0.5, 1);
    await page.waitForFunction(
      (before: number) => {
        const bar = document.querySelector('.detail .fill')!;
        return bar.getBoundingClientRect().width / bar.parentElement.clientWidth < before - 0.01;
      },
      {},
      full,
    );
    const waiting = redisson.getLock('order:7').acquire();
    await shows('a.row .waiters', /1/);
    await shows('.detail .events', /1 waiter/);
    await hold.unlock();
    const next = await waiting;
    await shows('.detail', new RegExp(`Holder.*${redisson.getId()}`));
    await next.unlock();
    await shows('.empty', /No locks/);
  });

  it('a holder that was killed gets its verdict', async () => {
    const redisson = trackClient(Redisson.create(server.url));
    const base = await serve(trackClient(createDashboard({ redisson })));
    const child = startHolder(server.url, 'doomed');
    await once(child.stdout, 'data');
    await page.goto(`${base}/#lock=doomed`);
    await shows('.detail .verdict', /●.*held/);
    child.kill('SIGKILL');
    await shows('.detail .verdict', /holder gone.*not connected/);
    await shows('.detail .connection', /not connected/);
    await shows('.chip.bad', /Trouble 1/);
    expect(await page.title()).to.contain('(1)');
    await redisson.getLock('doomed').forceUnlock();
  });

  it('a forced unlock needs the typed name', async () => {
    const redisson = trackClient(Redisson.create(server.url));
    const base = await serve(trackClient(createDashboard({ redisson, readOnly: false })));
    const holder = trackClient(Redisson.create(server.url));
    const lock = holder.getLock('pay:1');
    await lock.lock();
    await page.goto(`${base}/`);
    await shows('a.row', /pay:1/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await clickRelease();
    await page.waitForSelector('dialog[open] input');
    const isDisabled = (): Promise<boolean> =>
      page.$eval('dialog button.danger', (button) => (button as unknown as Found).disabled);
    expect(await isDisabled()).to.equal(true);
    await page.type('dialog input', 'pay:');
    await page.keyboard.press('Enter');
    expect(await isDisabled()).to.equal(true);
    expect(await lock.isLocked()).to.equal(true);
    await page.type('dialog input', '1');
    await page.waitForSelector('dialog button.danger:not(:disabled)');
    await page.click('dialog button.danger');
    await shows('dialog', /is released/);
    expect(await lock.isLocked()).to.equal(false);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('dialog') === null);
  });

  it('read-only: no button, but the command; behind "if you must" where the holder may be there', async () => {
    const healthy = report("it's");
    const gone = report('gone', { verdict: { kind: 'holder-gone', sentence: 'Held, but its holder is gone.' } });
    const source = new FakeSource(healthy, gone);
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/#lock=it%27s`);
    await shows('.detail .must summary', /If you must/);
    expect(await page.$eval('.detail', (detail) => (detail as unknown as Found).innerText)).not.to.contain('--force');
    await page.click('.detail .must summary');
    // D7: it says which Redis, and what that does.
    expect(await shows('.detail .command', /--url/)).to.match(
      /^ioredisson unlock --force --url redis:\/\/[\d.]+:\d+\/\d+ 'it'\\''s'$/,
    );
    await shows('.detail .warning', /if it is alive, it goes on, and two are inside at once/);
    expect(await page.$('.detail .danger')).to.equal(null);
    await page.goto(`${base}/#lock=gone`);
    await shows('.detail .command', /--force .* gone/);
    expect(await page.$('.detail .must')).to.equal(null);
  });

  it('who does not answer: since when, and beside it the verdict of the command line', async () => {
    const silentSince = Date.now() - 72_000;
    const [holder] = report('x').holders;
    const silent = (time: string, waiters = 0): ObjectReport =>
      report('frozen', {
        waiters,
        verdict: {
          kind: 'not-renewed',
          sentence: `Held. Its holder listens, but has not answered ${time}: it is frozen.`,
        },
        holders: [{ ...holder!, silent: true, silentSince }],
      });
    const source = new FakeSource(silent('for 3.0 s'));
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/#lock=frozen`);
    await shows(
      '.detail .verdict',
      /no answer for 1 m 1\d s.*not-renewed.*has not answered for 1 m 1\d s: it is frozen/,
    );
    await shows('a.row', /no answer for 1 m 1\d s/);
    // What the first look has told: nobody is told the sentences of the next ones, which differ by times alone.
    source.see(silent('within 2 s', 3));
    await shows('.detail .facts', /Waiters\s+3/);
    await shows('.detail .verdict', /has not answered for 1 m \d\d s: it is frozen/);
    // Words of one kind: none of them says that it is known not to be renewed.
    expect(await page.$eval('a.row', (row) => (row as unknown as Found).innerText)).not.to.match(/not renewed|silent/);
  });

  it('as of when, and in which time zone, on every width', async () => {
    const base = await serve(dashboardOf(new FakeSource(report('fine'))));
    await page.goto(`${base}/#lock=fine`);
    const asOf = /As of \d\d:\d\d:\d\d UTC/;
    expect(await shows('.detail .place-line', asOf)).not.to.contain('database');
    await page.setViewport({ width: 390, height: 844 });
    await shows('.detail .place-line', /database 0\. As of \d\d:\d\d:\d\d UTC/);
  });

  it('on a phone each time of the list says what it is', async () => {
    // Of minutes, a busy machine may take some seconds.
    const heldSince = Date.now() - 300_000;
    const nobody = { kind: 'semaphore', holders: [], ttlMs: -1, value: '0', waiters: 1 } as const;
    const source = new FakeSource(report('fine', { waiters: 2, heldSince }), report('permits', nobody));
    const base = await serve(dashboardOf(source));
    await page.setViewport({ width: 390, height: 844 });
    await page.goto(`${base}/`);
    await shows('a.row', /Held for .*5 m \d+ s.*Lease left.*\d s.*Waiters 2 for/);
    const shown = await page.$$eval('a.row .label', (labels) =>
      labels.map((label) => (label as unknown as { readonly offsetWidth: number }).offsetWidth > 10),
    );
    // What has no holder and no lease has no labels for them.
    expect(shown).to.deep.equal([true, true, true, true]);
  });

  it("names are anybody's input: they are text", async () => {
    const evil = '<img src=x onerror="document.title=1">\n\u202e\u3164\u{e0041}"\'&<script>document.title=2</script>';
    const source = new FakeSource(report(evil), report('__proto__'), report('constructor'));
    const base = await serve(dashboardOf(source, { readOnly: false }));
    await page.goto(`${base}/#sort=name&lock=${encodeURIComponent(evil)}`);
    await shows('.detail h2', /<img src=x onerror="document.title=1">\\n\\u202e\\u3164\\udb40\\udc41"/);
    await shows('a.row', /constructor/);
    expect(await page.$$eval('a.row', (rows) => rows.length)).to.equal(3);
    expect(await page.$('#app img, #app script')).to.equal(null);
    expect(await page.title()).to.contain('Locks');
    // What cannot be typed is typed as it is shown.
    await clickRelease();
    const shown = evil.replace(/\n.*(?=")/s, '\\n\\u202e\\u3164\\udb40\\udc41');
    // Before it is open, what is typed goes elsewhere.
    await page.waitForSelector('dialog[open] input');
    await page.type('dialog input', shown);
    await page.waitForSelector('dialog button.danger:not(:disabled)');
  });

  it('D6: the lease bar is drawn against the lease that was seen, not against 30 s', async () => {
    const source = new FakeSource(report('short', { ttlMs: 10_000 }));
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/#lock=short`);
    await shows('.detail .left', /s/);
    expect(await leaseShare()).to.be.greaterThan(0.7);
  });

  it('says that Redis is gone, and recovers; so it does when its own server goes', async () => {
    const source = new FakeSource(report('a'));
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/`);
    await shows('a.row', /a/);
    source.tell({ kind: 'outage', at: Date.now(), error: new Error('the disk is full') });
    await shows('.banner', /Redis refuses a command: the disk is full.*was true at/);
    await shows('a.row', /a/);
    source.tell({ kind: 'recovered', at: Date.now() });
    await page.waitForFunction(() => document.querySelector('.banner') === null);
    await page.setOfflineMode(true);
    // The stream that is open does not notice; the next one does.
    await page.type('#search', 'zzz');
    await shows('.banner', /server of this page does not answer/);
    await page.setOfflineMode(false);
    await shows('.empty', /Nothing matches.*The only lock does not match\./);
    source.see(report('b'));
    await shows('.empty', /None of the 2 locks matches\./);
  });

  it('on a phone an open detail says itself that Redis is gone: it covers the banner', async () => {
    const source = new FakeSource(report('a'));
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/#lock=a`);
    await shows('.detail .verdict', /held/);
    source.tell({ kind: 'outage', at: Date.now(), error: new Error('the disk is full') });
    await shows('.banner', /the disk is full/);
    expect(
      await page.$$eval(
        '.banner',
        (all) => all.filter((one) => (one as unknown as { readonly offsetWidth: number }).offsetWidth > 0).length,
      ),
    ).to.equal(1);
    await page.setViewport({ width: 390, height: 844 });
    await page.waitForSelector('.detail .banner', { visible: true });
    await shows(
      '.detail .banner',
      /Redis refuses a command: the disk is full.*What is shown was true at \d\d:\d\d:\d\d/,
    );
  });

  it('permits have leases, of which the list knows nothing: it does not say "no expiry"', async () => {
    const permits = { kind: 'permitExpirableSemaphore', value: 0, acquired: 1, ttlMs: -1, waiters: 1 } as const;
    const forever = { ttlMs: -1, verdict: { kind: 'no-expiry', sentence: 'Held.' } } as const;
    const base = await serve(dashboardOf(new FakeSource(report('permits', permits), report('a lock', forever))));
    await page.goto(`${base}/#sort=name`);
    await shows('a.row', /permits/);
    const texts = await page.$$eval('a.row .ends', (all) => all.map((one) => (one as unknown as Found).innerText));
    expect(texts).to.deep.equal(['no expiry', '']);
  });

  it('an owner whose thread id is like one of Java is taken for one, but not for sure', async () => {
    const [holder] = report('x').holders;
    const process = { connected: 'unknown', java: true, unknownBecause: 'java' } as const;
    const base = await serve(dashboardOf(new FakeSource(report('x', { holders: [{ ...holder!, process }] }))));
    await page.goto(`${base}/`);
    await shows('a.row .holder', /^Java\? · /);
  });

  it('the release stands above the events, which may be many', async () => {
    const base = await serve(dashboardOf(new FakeSource(report('a'))));
    await page.goto(`${base}/#lock=a`);
    await page.waitForSelector('.detail .must');
    const parts = await page.$$eval('.detail .part', (all) => all.map((one) => (one as unknown as Found).innerText));
    const first = (text: RegExp): number => parts.findIndex((part) => text.test(part));
    expect(first(/If you must/)).to.be.within(0, first(/^Events/));
  });

  it('10 000 locks: pages, search and keys', async () => {
    const source = new FakeSource(
      ...Array.from({ length: 10_000 }, (_, i) => report(`lock:${String(i).padStart(5, '0')}`)),
    );
    const base = await serve(dashboardOf(source));
    await page.goto(`${base}/#sort=name`);
    await shows('.pages', /1–50 of 10\u202f000/);
    expect(await page.$$eval('a.row', (rows) => rows.length)).to.equal(50);
    // The page has what it shows, and no more, and is told of nothing else.
    expect(await page.evaluate(() => [...document.querySelectorAll('*')].length)).to.be.below(1_500);
    await page.evaluate(() => {
      const rows = new WeakSet(document.querySelectorAll('a.row'));
      Object.assign(globalThis, {
        kept: () => [...document.querySelectorAll('a.row')].filter((row) => rows.has(row)).length,
      });
    });
    source.see(report('lock:00003', { waiters: 4 }), report('lock:09000', { waiters: 5 }));
    await shows('a.row', /lock:00003.*4/);
    expect(await page.evaluate(() => (globalThis as unknown as { kept(): number }).kept())).to.equal(50);
    await page.click('.pages button:last-child');
    await shows('a.row', /lock:00050/);
    await page.keyboard.press('/');
    await page.keyboard.type('9999');
    await shows('.pages', /1–1 of 1/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await shows('.detail h2', /lock:09999/);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('.detail') === null);
    await page.waitForFunction(() => document.activeElement?.matches('a.row') === true);
  });

  /** Presses Tab until an element with that text has the focus; the page itself, which has it in between, is none. */
  async function tabTo(text: RegExp): Promise<void> {
    // Before it is there, Tab passes it by.
    await shows('summary, button', text);
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => {
        const one = document.activeElement;
        return one === null || one.matches('body') ? '' : one.innerText;
      });
      if (text.test(focused)) return;
    }
    throw new Error(`Tab does not lead to ${text}`);
  }

  it('with the keyboard only: search, open, release by force; what was done stays until it is closed', async () => {
    const source = new FakeSource(report('order:1'), report('order:2'), report('other'));
    await page.goto(await serve(dashboardOf(source, { readOnly: false })));
    await shows('a.row', /other/);
    await page.keyboard.press('/');
    await page.keyboard.type('order');
    await shows('.pages', /1–2 of 2/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await shows('.detail h2', /order:2/);
    await tabTo(/If you must/);
    await page.keyboard.press('Enter');
    await tabTo(/Release by force/);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    await page.keyboard.type('order:2');
    await page.keyboard.press('Enter');
    await shows('dialog', /The lock is released/);
    // The lock is gone, and the button with it.
    await shows('.detail', /Nothing by that name|no longer/);
    expect(source.reports.has('order:2')).to.equal(false);
    expect(await shows('dialog', /The lock is released/)).to.contain('Close');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('dialog') === null);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('.detail') === null);
  });

  it('with the keyboard only: permits that do not come back, a latch that nobody counts down', async () => {
    const redisson = trackClient(Redisson.create(server.url));
    const semaphore = redisson.getSemaphore('quota');
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiter = trackClient(Redisson.create(server.url));
    const got = waiter.getSemaphore('quota').acquire();
    const latch = redisson.getCountDownLatch('ready');
    await latch.trySetCount(1);
    const gone = waiter.getCountDownLatch('ready').await();
    const base = await serve(trackClient(createDashboard({ redisson, readOnly: false })));
    for (const [name, button, outcome, over] of [
      ['quota', /Add by force/, /The permits are there/, got],
      ['ready', /Open by force/, /The latch is open/, gone],
    ] as const) {
      await page.goto('about:blank');
      await page.goto(`${base}/#lock=${name}`);
      await shows('.detail .verdict', /1 connection waits/);
      await tabTo(/If you must/);
      await page.keyboard.press('Enter');
      await tabTo(button);
      await page.keyboard.press('Enter');
      await page.waitForSelector('dialog[open]');
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await shows('dialog', outcome);
      await over;
    }
    await semaphore.delete();
  });

  it('a Redis that refuses locks, and what may be lost: red and amber, each with a link that fits', async () => {
    const source = new FakeSource(report('a'));
    await page.goto(await serve(dashboardOf(source)));
    await shows('a.row', /a/);
    const refuses = 'Redis answers, but refuses locks: OOM, its memory is full. What to do: make room.';
    const lost = { at: Date.now(), locks: 2, names: ['x', 'y'], certain: false };
    source.tell({ kind: 'health', at: Date.now(), health: { refuses, lost } });
    await shows('.banner', /refuses locks: OOM/);
    await shows('.banner.slow', /may have lost 2 locks that were held: x, y/);
    await shows('.health', /Redis refuses locks/);
    const links = await page.$$eval('.banner a', (all) => all.map((one) => (one as unknown as { hash: string }).hash));
    expect(links).to.deep.equal(['#redis-does-not-answer-or-refuses', '#a-lock-was-lost']);
    // The list is not out of date: Redis answers.
    expect(await page.$('.list.stale')).to.equal(null);
  });

  it('a name of 5000 characters leaves room for the rest on a phone', async () => {
    const name = 'x'.repeat(5_000);
    const source = new FakeSource(report(name), report('short'));
    await page.setViewport({ width: 390, height: 844 });
    const base = await serve(dashboardOf(source));
    await page.goto(base);
    await shows('a.row', /short/);
    const height = (selector: string): Promise<number> =>
      page.evaluate((one) => document.querySelector(one)!.getBoundingClientRect().height, selector);
    expect(await height('a.row')).to.be.lessThan(400);
    await page.goto('about:blank');
    await page.goto(`${base}/#lock=${name}`);
    await shows('.detail .verdict', /Held/);
    expect(await height('.detail h2')).to.be.lessThan(250);
  });

  for (const [scheme, rules] of [
    ['light', undefined],
    ['dark', COLOUR_RULES],
  ] as const) {
    it(`axe-core finds nothing (${scheme})`, async () => {
      const owner = report('').holders[0]!;
      const gone = { ...owner, owner: 'gone', process: { connected: false, java: false, host: 'web-2', pid: 2 } };
      const queue = [{ ...owner, remainingMs: 5_000, listening: true }];
      const source = new FakeSource(
        report('fine', { waiters: 2, kind: 'fair', queue }),
        report('dead', {
          holders: [gone],
          verdict: { kind: 'holder-gone', sentence: 'Held, but its holder is gone.' },
        }),
        report('lease', { verdict: { kind: 'not-renewed', sentence: 'Nobody renews it.' } }),
        report('forever', { ttlMs: -1, verdict: { kind: 'no-expiry', sentence: 'It does not end.' } }),
        report('free\u202e', {
          ttlMs: -2,
          holders: [],
          verdict: { kind: 'free', sentence: 'Free.' },
          kind: 'semaphore',
          value: 3,
        }),
      );
      const base = await serve(dashboardOf(source, { readOnly: false, label: 'staging' }));
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const check = (what: string): Promise<void> => expectAccessible(page, what, rules);
      await page.goto(`${base}/`);
      await shows('a.row', /fine/);
      await shows('.top', /staging.*database 0, user default/);
      await check('the list');
      await page.click('a.row[href$="lock=fine"]');
      await shows('.detail .queue', /web-1/);
      await check('a lock');
      await clickRelease();
      await page.waitForSelector('dialog[open]');
      await check('the dialog, wide');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => document.querySelector('dialog') === null);
      await page.setViewport({ width: 390, height: 844 });
      await check('a lock on a phone');
      await clickRelease();
      await page.waitForSelector('dialog[open]');
      await check('the dialog');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => document.querySelector('dialog') === null);
      await page.keyboard.press('Escape');
      await shows('a.row', /fine/);
      await check('the list on a phone');
      source.tell({ kind: 'outage', at: Date.now(), error: new Error('away') });
      await shows('.banner', /away/);
      await check('an outage');
      source.tell({ kind: 'recovered', at: Date.now() });
      source.remove('forever');
      const lost = { at: Date.now(), locks: 1, names: ['forever'], certain: true };
      source.tell({ kind: 'health', at: Date.now(), health: { lost } });
      await shows('.banner', /without 1 lock that was held.*forever/);
      await check('a restart that lost a lock');
      await page.type('#search', 'nothing of the kind');
      await shows('.empty', /Nothing matches/);
      await check('nothing');
      // D6: an empty search says nothing of trouble that there is elsewhere.
      await page.click('.chip.bad');
      await shows('.empty', /Nothing matches.*2 of them are in trouble/);
    });
  }
});
