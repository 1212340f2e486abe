import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Page } from 'puppeteer-core';
import { Redisson } from '../../../lib';
import { dashboardOn } from '../../../lib/operators/dashboard/createDashboard';
import { checkOptions } from '../../../lib/operators/dashboard/options';
import type { HolderReport, ObjectReport, ProcessReport, WaiterReport } from '../../../lib/operators/inspection';
import { verdictOf } from '../../../lib/operators/inspection/verdict';
import { WhoWaits } from '../../../lib/operators/inspection/whoWaits';
import type { ClientAnswer } from '../../../lib/introspection/wire';
import { projectRoot } from '../../../tools/buildOutput';
import { RedisServer } from '../../../tools/redisServer';
import { FakeSource } from '../../dashboard/support/FakeSource';
import { listen } from '../../dashboard/support/listen';
import { launchBrowser } from './browser';

// Takes the pictures of docs/dashboard.md, of locks that are made up: npm run docs:screenshots

const WATCHDOG_MS = 30_000;
/** What is left of the lease of a lock that the watchdog renews. */
const RENEWED_MS = 24_000;
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
  const facts = {
    name,
    key: name,
    kind: 'lock',
    ttlMs: RENEWED_MS,
    holders: [holder],
    waiters: 0,
    channels: [],
  } as const;
  const all = { ...facts, ...more };
  const renewedTo = more.ttlMs === undefined ? WATCHDOG_MS : undefined;
  const watched = { heldSince: undefined, waitedSince: undefined, renewedTo, renewedAt: undefined };
  const verdict = verdictOf(all, { now: Date.now(), watched });
  return { ...all, verdict, heldSince: started - heldForMs };
}

const minutes = (n: number): number => n * 60_000;
const web = (i: number): ProcessReport => processOf(`checkout-7f9c-${i}`, 21);
const batch = (i: number): ProcessReport => processOf(`batch-${i}`, 118 + i);
const java: ProcessReport = { connected: 'unknown', java: true, unknownBecause: 'java' };

type Client = Pick<HolderReport, 'clientId' | 'process'>;
/** Callers of a client that wait for a lock, and the lock that they hold meanwhile. */
type Wait = readonly [name: string, by: Client, callers: number, waitedMs: number, holding?: HolderReport];

/** What a client says about itself. */
function answer({ clientId, process: { host = '', pid = 0 } }: Client, more: Partial<ClientAnswer>): ClientAnswer {
  const about = { uptimeMs: minutes(6_000), versions: { node: process.version, ioredisson: '' } };
  const eventLoop = { delayMs: 0, utilization: 0.2 };
  return { clientId, host, pid, ...about, eventLoop, holds: [], waits: [], total: { holds: 1, waits: 1 }, ...more };
}

/** The reports after the clients were asked: with their holds and waits, and the verdicts that these allow. */
function asked(unasked: readonly ObjectReport[], waits: readonly Wait[]): ObjectReport[] {
  const now = Date.now();
  const held = unasked.flatMap((report) => report.holders.map((holder) => ({ ...report, holder })));
  const holds = held.map(({ name, key, ttlMs, heldSince = now, holder }) => {
    const { owner: its, threadId } = holder;
    const heldMs = now - heldSince;
    const leaseMs = ttlMs === RENEWED_MS ? -1 : minutes(15);
    const renewals = Math.floor(heldMs / (WATCHDOG_MS / 3));
    const about = { kind: 'lock', threadId: Number(threadId), count: 1, heldMs, leaseMs, renewals } as const;
    return holder.process.connected === true && answer(holder, { holds: [{ name, key, owner: its, ...about }] });
  });
  const waiting = waits.map(([name, by, callers, waitedMs, holding]) => {
    const around = held.filter(({ holder }) => holder.owner === holding?.owner);
    const holdsMeanwhile = around.map(({ name: its, key, holder }) => ({ name: its, key, owner: holder.owner }));
    const wait = { callers, waitedMs: waitedMs + now - started, holding: holdsMeanwhile };
    return answer(by, { waits: [{ name, key: name, kind: 'lock', ...wait }] });
  });
  const answers = [...holds.filter((one) => one !== false), ...waiting];
  const clients = new WhoWaits({ answers, listening: new Set(), silent: new Map() });
  return unasked.map((report) => {
    const told = { ...report, ...clients.about(report) };
    return { ...told, verdict: clients.verdictOf(told, report.verdict, undefined) };
  });
}

function reports(): ObjectReport[] {
  const [payer, payee] = [owner(14, web(1)), owner(15, web(4))];
  const queue = [waiter(5, web(1)), waiter(6, web(4)), waiter(7, batch(1))];
  return asked(locks(payer, payee, queue), [
    ['account:1007', payee, 1, 122_000, payee],
    ['account:1008', payer, 1, 121_000, payer],
    ['reports:daily', queue[0]!, 1, 94_000],
    ['reports:daily', queue[1]!, 1, 71_000],
    ['reports:daily', queue[2]!, 1, 12_000],
    ['billing:nightly-run', owner(16, batch(1)), 2, 41_000],
    ['api:partner', owner(17, web(5)), 5, 8_200],
    ['order:48213', owner(18, web(2)), 3, 5_100],
  ]);
}

function locks(payer: HolderReport, payee: HolderReport, queue: readonly WaiterReport[]): ObjectReport[] {
  const gone = owner(3, processOf('batch-2', 4417, false));
  return [
    lock('leader:scheduler', minutes(3_205), owner(1, batch(1))),
    lock('account:1007', 124_000, payer, { waiters: 1 }),
    lock('account:1008', 123_000, payee, { waiters: 1 }),
    lock('legacy:import', minutes(1_512), owner(2, java), { ttlMs: -1 }),
    lock('billing:nightly-run', minutes(47), gone, { ttlMs: 13_400, waiters: 2 }),
    lock('reports:daily', minutes(31), owner(4, batch(3)), {
      kind: 'fair',
      waiters: 3,
      queue,
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
