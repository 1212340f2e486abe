import { Redis } from 'ioredis';
import * as sinon from 'sinon';
import { monotonicNow, sleep, turn } from '../../tools/realTimers';
import { redisUrl, sharedServer } from './sharedRedis';
import { forgetTimers, noteTimers, standingTimers } from './timerOrigins';
import { closeSuiteScope, closeTestScope, enterFile, hasSuiteClients, openTestScope } from './trackClient';

/** What a test may leave behind on purpose; it says so by {@link allowLeftovers}. */
export interface Leftovers {
  /** Keys that begin with `redisson_` and may stay: all, or those that match. */
  readonly keys?: true | RegExp;
  /** Subscriptions may stay. */
  readonly channels?: true;
  /** Connections may stay open. */
  readonly connections?: true;
  /** Timers that keep the process alive may stay. */
  readonly timers?: true;
}

/** What is there at one moment and should be there no more than before once the test is over. */
interface Inventory {
  readonly timers: number;
  readonly channels: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
  readonly connections: number;
}

/** What is on its way out (an UNSUBSCRIBE, a socket that closes) gets this long. */
const GRACE_MS = 1000;

noteTimers();

/** Of clients of `before` hooks, told at the end. */
const closingProblems: string[] = [];
let observer: Redis | undefined;
let before: Inventory | undefined;
let allowed: Leftovers = {};

/**
 * Rejections nobody handled, by their promise: mocha hears of each, passes it on to whoever listens too, and fails
 * nothing by itself; so without this map they would go unnoticed, and with mocha's they come twice.
 */
const unhandled = new Map<unknown, unknown>();
process.on('unhandledRejection', (reason, promise) => unhandled.set(promise, reason));
process.on('rejectionHandled', (promise) => unhandled.delete(promise));

function takeUnhandled(): string[] {
  const problems = [...unhandled.values()].map((reason) => `unhandled rejection: ${describeReason(reason)}`);
  unhandled.clear();
  return problems;
}

function describeReason(reason: unknown): string {
  return reason instanceof Error ? (reason.stack ?? String(reason)) : String(reason);
}

/** Says what the running test leaves behind on purpose. */
export function allowLeftovers(leftovers: Leftovers): void {
  allowed = { ...allowed, ...leftovers };
}

/** Root hook: opens the connection that looks at the shared server. */
export async function startLeakChecks(): Promise<void> {
  observer = new Redis(redisUrl(), { lazyConnect: true, maxRetriesPerRequest: 1, connectionName: 'leak-check' });
  observer.on('error', () => undefined);
  await observer.connect();
}

/** Root hook: closes what `before` hooks opened, and our own connection. */
export async function stopLeakChecks(): Promise<string[]> {
  const problems = [...closingProblems, ...(await closeSuiteScope())];
  observer?.disconnect();
  observer = undefined;
  return [...problems, ...takeUnhandled()];
}

/** Root hook, before each test. @param file - its file */
export async function beginTest(file: string | undefined): Promise<void> {
  closingProblems.push(...(await enterFile(file)));
  allowed = {};
  forgetTimers();
  before = await takeInventory();
  openTestScope();
}

/**
 * Root hook, after each test: takes the fakes back, looks for what the test left, closes its clients, and looks again.
 * Resolves to what is wrong, in words. A test that has `failed` is only cleaned up after: it has said enough.
 */
export async function endTest(failed: boolean): Promise<string[]> {
  sinon.restore();
  // An unhandled rejection shows itself after a full turn.
  await turn();
  const subscribed = failed ? [] : await settle(leftSubscriptions);
  const closing = await closeTestScope();
  const left = failed ? [] : await settle(leftOpen);
  const rejections = takeUnhandled();
  return failed ? [] : [...rejections, ...subscribed, ...closing, ...left];
}

/** Asks again until nothing is left or the grace has passed. */
async function settle(look: (was: Inventory, is: Inventory) => string[]): Promise<string[]> {
  const was = before;
  if (was === undefined) return [];
  const deadline = monotonicNow() + GRACE_MS;
  for (;;) {
    const problems = look(was, await takeInventory());
    if (problems.length === 0 || monotonicNow() > deadline) return problems;
    await sleep(10);
  }
}

/** Before the clients are closed, which would end every subscription and prove nothing. */
function leftSubscriptions(was: Inventory, is: Inventory): string[] {
  const left = allowed.channels ? [] : added(was.channels, is.channels);
  // A client that has held or waited for something for 5 s can be asked for as long afterwards.
  const channels = left.filter((channel) => !channel.startsWith('ioredisson:client:'));
  return channels.map((channel) => `leaked subscription: ${channel}`);
}

function leftOpen(was: Inventory, is: Inventory): string[] {
  const keys = added(was.keys, is.keys).filter((key) => !isAllowedKey(key));
  const problems = keys.map((key) => `leaked key: ${key}`);
  // A client of a `before` hook opens its second connection whenever it first waits.
  if (is.connections > was.connections && !allowed.connections && !hasSuiteClients()) {
    problems.push(`leaked connections: ${is.connections - was.connections} (trackClient closes them after the test)`);
  }
  if (is.timers > was.timers && !allowed.timers) {
    problems.push(`leaked timers: ${is.timers - was.timers}; set at\n${standingTimers().join('\nand at\n')}`);
  }
  return problems;
}

function isAllowedKey(key: string): boolean {
  return allowed.keys === true || (allowed.keys !== undefined && allowed.keys.test(key));
}

function added(was: ReadonlySet<string>, is: ReadonlySet<string>): string[] {
  return [...is].filter((one) => !was.has(one));
}

async function takeInventory(): Promise<Inventory> {
  // mocha's own timer for the hook we are in is set once the hook has returned its promise: count it each time.
  await turn();
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  if (observer === undefined) return { timers, channels: new Set(), keys: new Set(), connections: 0 };
  const [channels, sharded, keys, connections] = await Promise.all([
    observer.pubsub('CHANNELS', '*') as Promise<string[]>,
    // Redis 7 and later; nothing is sharded before.
    (observer.pubsub('SHARDCHANNELS', '*') as Promise<string[]>).catch((): string[] => []),
    redissonKeys(observer),
    countConnections(observer),
  ]);
  return { timers, channels: new Set([...channels, ...sharded]), keys: new Set(keys), connections };
}

async function redissonKeys(client: Redis): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, batch] = await client.scan(cursor, 'MATCH', 'redisson_*', 'COUNT', 1000);
    keys.push(...batch);
    cursor = next;
  } while (cursor !== '0');
  return keys;
}

/** Only on our own server: on somebody else's, other people come and go. */
async function countConnections(client: Redis): Promise<number> {
  if (sharedServer() === undefined) return 0;
  const list = (await client.client('LIST')) as string;
  return list.split('\n').filter((line) => line !== '').length;
}
