import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Page } from 'puppeteer-core';
import { Redisson } from '../../../lib';
import { dashboardOn } from '../../../lib/operators/dashboard/createDashboard';
import { checkOptions } from '../../../lib/operators/dashboard/options';
import type { HolderReport, ObjectReport, ProcessReport, WaiterReport } from '../../../lib/operators/inspection';
import { verdictOf } from '../../../lib/operators/inspection/verdict';
import { projectRoot } from '../../../tools/buildOutput';
import { RedisServer } from '../../../tools/redisServer';
import { FakeSource } from '../../dashboard/support/FakeSource';
import { listen } from '../../dashboard/support/listen';
import { launchBrowser } from './browser';

// Takes the pictures of docs/dashboard.md, of locks that are made up: npm run docs:screenshots

const WATCHDOG_MS = 30_000;
const started = Date.now();

/** A process, as a connection of it tells. */
function processOf(host: string, pid: number, connected: boolean | 'unknown' = true): ProcessReport {
  return {
    connected,
    java: false,
    host,
    pid,
    address: `10.4.${(pid % 7) + 1}.${(pid % 200) + 11}:${40_000 + pid}`,
    ...(connected === true && { connectedForMs: 5_000_000 + pid * 60_000 }),
  };
}

function owner(id: number, process: ProcessReport): HolderReport {
  const clientId = `${(0x3fa1c07e + id * 0x1b70d3).toString(16)}-6fd4-4427-bfd5-bbd574742191`;
  return { owner: `${clientId}:${id + 1}`, clientId, threadId: String(id + 1), client: 'node', holdCount: 1, process };
}

function waiter(id: number, process: ProcessReport): WaiterReport {
  const { holdCount: _holdCount, ...rest } = owner(id, process);
  return { ...rest, remainingMs: 11_000 + id * 5_000, listening: true };
}

function lock(name: string, heldForMs: number, holder: HolderReport, more: Partial<ObjectReport> = {}): ObjectReport {
  const facts = { name, key: name, kind: 'lock', ttlMs: 24_000, holders: [holder], waiters: 0, channels: [] } as const;
  const all = { ...facts, ...more };
  const renewedTo = more.ttlMs === undefined ? WATCHDOG_MS : undefined;
  const verdict = verdictOf(all, { now: Date.now(), renewedTo });
  return { ...all, verdict, heldSince: started - heldForMs };
}

const minutes = (n: number): number => n * 60_000;
const web = (i: number): ProcessReport => processOf(`checkout-7f9c-${i}`, 21);
const batch = (i: number): ProcessReport => processOf(`batch-${i}`, 118 + i);
const java: ProcessReport = { connected: 'unknown', java: true, unknownBecause: 'java' };

function reports(): ObjectReport[] {
  const gone = owner(3, processOf('batch-2', 4417, false));
  return [
    lock('leader:scheduler', minutes(3_205), owner(1, batch(1))),
    lock('legacy:import', minutes(1_512), owner(2, java), { ttlMs: -1 }),
    lock('billing:nightly-run', minutes(47), gone, { ttlMs: 13_400, waiters: 2 }),
    lock('reports:daily', minutes(31), owner(4, batch(3)), {
      kind: 'fair',
      waiters: 3,
      queue: [waiter(5, web(1)), waiter(6, web(4)), waiter(7, batch(1))],
    }),
    lock('export:parquet', minutes(12), owner(8, batch(3)), { ttlMs: 5_100 }),
    lock('ledger:close', minutes(8), owner(9, processOf('ledger-0', 1)), { kind: 'fenced', token: '48213' }),
    lock('catalog', minutes(3), owner(10, web(2)), {
      kind: 'readWrite',
      mode: 'read',
      holders: [owner(10, web(2)), owner(11, web(3)), owner(12, web(5))],
    }),
    lock('stock:eu-west:reindex', minutes(2), owner(13, batch(1))),
    ...[48_213, 48_214, 48_219, 48_230].map((id, i) =>
      lock(`order:${id}`, 5_300 - i * 1_100, owner(20 + i, web(i + 1)), { waiters: i === 0 ? 3 : 0 }),
    ),
    lock('mail:outbox', 2_000, owner(30, processOf('mailer-0', 1))),
    lock('api:partner', 0, owner(31, web(1)), { kind: 'semaphore', holders: [], ttlMs: -1, value: '0', waiters: 5 }),
    lock('evil\n<img src=x onerror=alert(1)>\u202ename', 900, owner(32, web(3))),
  ];
}

async function main(): Promise<void> {
  const folder = path.join(projectRoot, 'docs', 'images');
  const server = await RedisServer.start();
  const redisson = Redisson.create({ url: server.url, lockWatchdogTimeout: WATCHDOG_MS });
  const source = new FakeSource(...reports());
  const options = { redisson, readOnly: false, label: 'production' };
  const dashboard = dashboardOn(source, options, checkOptions(options));
  const { base, close } = await listen(dashboard);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const shoot = async (name: string, scheme: 'light' | 'dark', width: number, height: number, lockName?: string) => {
      source.see(...reports());
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto('about:blank');
      await page.goto(`${base}/${lockName === undefined ? '' : `#lock=${encodeURIComponent(lockName)}`}`);
      await page.waitForSelector(lockName === undefined ? 'a.row' : '.detail .verdict');
      await page.waitForSelector('.health.ok');
      await picture(page, path.join(folder, `dashboard-${name}.png`));
    };
    await shoot('light', 'light', 1360, 840);
    source.see(...reports());
    await page.goto(`${base}/`);
    // Something happens to the locks whose events are shown.
    const queue = reports().find(({ name }) => name === 'reports:daily')!;
    source.see({ ...queue, waiters: 2, queue: queue.queue!.slice(0, 2) });
    source.see(queue);
    const billing = reports().find(({ name }) => name === 'billing:nightly-run')!;
    const alive = owner(3, processOf('batch-2', 4417));
    source.see(lock(billing.name, minutes(47), alive, { waiters: 0 }));
    source.see(lock(billing.name, minutes(47), alive, { waiters: 2 }));
    source.see(billing);
    await shoot('detail', 'light', 1360, 840, 'reports:daily');
    await shoot('dark', 'dark', 1360, 840, 'billing:nightly-run');
    await shoot('phone', 'light', 390, 844);
  } finally {
    await browser.close();
    await dashboard.close();
    await close();
    await redisson.shutdown();
    await server.stop();
  }
}

/** A picture that is not larger than a page of docs can bear. */
async function picture(page: Page, file: string): Promise<void> {
  await page.screenshot({ path: file });
  const kB = fs.statSync(file).size / 1_000;
  console.log(`${path.basename(file)}: ${kB.toFixed(0)} kB`);
  if (kB > 200) throw new Error(`${file} is too large`);
}

void main();
