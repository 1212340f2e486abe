/**
 * `npm run example:nest`: a fleet of three NestJS processes under traffic, with a dashboard, metrics, and a deploy that
 * replaces each process. README.md says what one sees. Enter deploys again, Ctrl-C ends.
 */
import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import { PrefixNameMapper, Redisson } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import { exampleRedis } from '../exampleRedis';
import { Books } from './books';
import { Member } from './Member';
import type { News } from './service';

const PROCESSES = 3;
const PORT = 3000;
/** The first deploy begins so many ms after the start. */
const FIRST_DEPLOY_MS = 6_000;
/** A customer comes, and clicks twice, every so many ms. */
const CUSTOMER_EVERY_MS = 300;

/** The processes that take requests, the oldest first. */
const fleet: Member[] = [];
const answers = { paid: 0, refused: 0, failed: 0 };
let lost = 0;
let started = 0;
const runningSince = performance.now();

function say(text: string): void {
  console.log(`${((performance.now() - runningSince) / 1_000).toFixed(1).padStart(6)} s  ${text}`);
}

function hear({ number }: Member, news: News): void {
  if (news.event === 'importing') say(`process ${number} imports`);
  if (news.event === 'reported') say(`process ${number} makes the report`);
  if (news.event === 'draining') say(`process ${number} drains; it holds ${news.holds.join(', ') || 'nothing'}`);
  if (news.event === 'lost') {
    lost += 1;
    say(`process ${number} HAS LOST ${news.lock}`);
  }
}

/** The load balancer: passes a request to the next process; one that shuts down (503) or is gone is skipped. */
async function balance(target: string, method: string): Promise<{ status: number; text: string }> {
  for (let attempt = 1; attempt <= PROCESSES; attempt++) {
    const member = fleet.shift()!;
    fleet.push(member);
    const response = await member.request(target, method).catch(() => undefined);
    if (response !== undefined && response.status !== 503) {
      return { status: response.status, text: await response.text() };
    }
  }
  return { status: 503, text: 'no process answers' };
}

/** The metrics of all processes; the label `process` says whose. */
async function metrics(): Promise<string> {
  const all = await Promise.all(fleet.map(async (member) => (await member.request('/metrics.json')).json()));
  return AggregatorRegistry.aggregate(all as object[]).metrics();
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** The one address of the fleet. */
async function openFrontDoor(redisson: Redisson): Promise<{ readonly url: string; readonly close: () => void }> {
  const dashboard = createDashboard({ redisson, basePath: '/locks', label: 'example' });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/') return void response.writeHead(302, { location: '/locks/' }).end();
    if (request.url === '/metrics') {
      return void response.setHeader('content-type', 'text/plain; version=0.0.4').end(await metrics());
    }
    const { status, text } = await balance(request.url!, request.method!);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };
  const server = createServer((request, response) => {
    void dashboard(request, response, () => {
      answer(request, response).catch(() => response.destroy());
    });
  });
  // The usual port, or a free one.
  await listen(server, PORT).catch(() => listen(server, 0));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => {
      void dashboard.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A customer who clicks twice. */
async function shop(order: string): Promise<void> {
  const clicks = [balance(`/orders/${order}/pay`, 'POST'), balance(`/orders/${order}/pay`, 'POST')];
  for (const { status } of await Promise.all(clicks)) {
    answers[status === 201 ? 'paid' : status === 409 ? 'refused' : 'failed'] += 1;
  }
}

/**
 * Replaces each process: the new one takes requests first, then the old one gets SIGTERM and drains. Ends early when
 * `closing` aborts.
 */
async function deploy(start: () => Promise<Member>, closing: AbortSignal): Promise<void> {
  const from = performance.now();
  say(`DEPLOY: ${PROCESSES} processes are replaced, one after the other`);
  for (const old of fleet.toSorted((a, b) => a.number - b.number)) {
    if (closing.aborted) return;
    const fresh = await start();
    fleet.push(fresh);
    fleet.splice(fleet.indexOf(old), 1);
    say(`process ${fresh.number} takes requests; SIGTERM to process ${old.number}`);
    const since = performance.now();
    await old.end();
    say(`process ${old.number} has ended, after ${((performance.now() - since) / 1_000).toFixed(1)} s`);
  }
  say(`DEPLOYED in ${((performance.now() - from) / 1_000).toFixed(1)} s`);
}

/** Prints the counts. @returns whether all is well */
async function showBalance(books: Books): Promise<boolean> {
  const { begun, finished, mostAtOnce, ordersPaid, ordersPaidTwice } = await books.balance();
  say(`  locks lost: ${lost}`);
  say(`  imports: ${begun} begun, ${finished} finished, at most ${mostAtOnce} at once`);
  say(`  orders: ${ordersPaid} paid, ${ordersPaidTwice} of them twice; ${answers.refused} second clicks refused`);
  say(`  requests that failed: ${answers.failed}`);
  // One import may be under way.
  return lost + ordersPaidTwice + answers.failed === 0 && mostAtOnce <= 1 && begun - finished <= 1;
}

async function main(): Promise<void> {
  const closing = new AbortController();
  const closed = once(closing.signal, 'abort');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => closing.abort());

  const { url, stop } = await exampleRedis();
  const prefix = `fleet-${randomBytes(2).toString('hex')}:`;
  const redis = new Redis(url);
  const books = new Books(redis, prefix);
  const redisson = Redisson.create({ url, nameMapper: new PrefixNameMapper(prefix) });
  const start = (): Promise<Member> => Member.start(++started, { REDIS_URL: url, FLEET_PREFIX: prefix }, hear);
  const door = await openFrontDoor(redisson);
  console.log(`A fleet of ${PROCESSES} NestJS processes, Redis at ${new URL(url).host}
  dashboard  ${door.url}/locks/
  metrics    ${door.url}/metrics
  an order   curl -X POST ${door.url}/orders/A-1/pay
Enter deploys again, Ctrl-C ends.
`);
  fleet.push(...(await Promise.all(Array.from({ length: PROCESSES }, start))));
  say(`${PROCESSES} processes take requests`);

  let order = 0;
  let shopping: Promise<unknown> = Promise.resolve();
  const customers = setInterval(() => {
    shopping = Promise.all([shopping, shop(`${++order}`)]);
  }, CUSTOMER_EVERY_MS);
  /** One deploy at a time; the next begins when this one has ended. */
  let deploying = sleep(FIRST_DEPLOY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
  const deployNext = (): void => {
    deploying = deploying.then(async () => {
      if (closing.signal.aborted) return;
      await deploy(start, closing.signal);
      await showBalance(books);
    });
  };
  deployNext();
  process.stdin.on('data', deployNext);

  await closed;
  process.stdin.destroy();
  say('ENDING: no more customers; each process drains');
  clearInterval(customers);
  await shopping;
  await deploying;
  await Promise.all(fleet.map((member) => member.end()));
  const isWell = await showBalance(books);
  door.close();
  await redisson.shutdown();
  await books.burn();
  redis.disconnect();
  await stop();
  process.exitCode = isWell ? 0 : 1;
}

void main();
