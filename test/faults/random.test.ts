import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Redisson } from '../../lib';
import { monitor, type Monitor, monotonicNow, RedisServer, sleep, TcpProxy, trackClient } from '../support';
import { Checker } from './Checker';
import { compete, type Ending } from './contenders';
import { permitsOf } from './permits';
import { fleetPrize, prizes } from './prizes';
import { Random } from './Random';
import { client, within } from './scene';
import { StalledProcess } from './StalledProcess';
import { failSaves, Troublemaker } from './Troublemaker';

/*
 * Clients, kinds of locks, names with and without braces, branches of one thread, readers beside writers, other
 * processes that die or freeze in a fair queue, waits, leases, aborts and faults, refusals by the server among them,
 * all mixed at random, in rounds: trouble, then calm, then everybody has to come to an end, and nothing may be left.
 *
 *   FAULTS_SECONDS=600 npm run test:faults        longer than the 60 s of a usual run
 *   FAULTS_SEED=12345 npm run test:faults         the same choices once more (the order of events is the machine's)
 */
const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 60);
const SEED = Number(process.env['FAULTS_SEED'] ?? (Date.now() % 0x7fffffff) + 1);

const PROXIES = 3;
const CLIENTS = 6;
const WORKERS = 4;
const RAGE_MS = 3_000;
/** Far less than the long lease of the contenders: what was forgotten does not go away by itself in that time. */
const DRAIN_MS = 15_000;
/** How many of the last commands a failure shows. */
const LAST_COMMANDS = 2_000;

describe('contenders under random faults', () => {
  it(`is never two inside, waits for nothing in vain and leaves nothing behind, for ${SECONDS} s`, async function () {
    this.timeout((SECONDS + 120) * 1_000);
    const random = new Random(SEED);
    const server = trackClient(await RedisServer.start());
    const marks = trackClient(await RedisServer.start());
    const direct = named(server.url);
    await failSaves(direct);
    const proxies = await Promise.all(Array.from({ length: PROXIES }, () => TcpProxy.start(server.url)));
    proxies.forEach((proxy) => trackClient(proxy));
    const settings = { timeout: 300, retryAttempts: 2, lockWatchdogTimeout: 1_500, fairLockWaitTimeout: 5_000 };
    const clients = Array.from({ length: CLIENTS }, (_, i) => client(proxies[i % PROXIES]!.url, settings));
    const checker = new Checker(direct, named(marks.url));
    const seen = trackClient(await monitor(server.url));
    const endsAt = monotonicNow() + SECONDS * 1_000;
    let round = 0;
    try {
      while (monotonicNow() < endsAt && checker.findings.violations.length === 0) {
        await seen.clear();
        const trouble = new Troublemaker(random.fork(), server, proxies, named(server.url));
        await playRound(round++, clients, trouble, random.fork(), checker, direct, server.url);
        if (checker.findings.violations.length === 0) continue;
        console.log(`round ${round}: ${trouble.log.join(', ')}`);
        console.log(await history(seen, checker.findings.violations));
      }
    } finally {
      checker.close();
    }
    const { violations, visits, losses } = checker.findings;
    console.log(`        ${round} rounds, ${visits} visits, ${losses} losses that were told`);
    // mocha shows no difference as long as some of these are.
    const shown = violations.slice(0, 10).map((violation) => violation.slice(0, 600));
    expect(shown, `FAULTS_SEED=${SEED}, ${violations.length} violations`).to.deep.equal([]);
    expect(visits, `FAULTS_SEED=${SEED}`).to.be.greaterThan(round * 10);
    for (const redisson of clients) await redisson.shutdown();
    await direct.ping();
  });
});

async function playRound(
  round: number,
  clients: readonly Redisson[],
  trouble: Troublemaker,
  random: Random,
  checker: Checker,
  direct: Redis,
  url: string,
): Promise<void> {
  const prefix = `round${round}`;
  const fleet = fleetPrize(prefix);
  const all = [...prizes(prefix), fleet, fleet];
  const others = await Promise.all([1, 2].map(() => StalledProcess.start(url, fleet.name)));
  const permits = await permitsOf(direct, `${prefix}:permits`, checker);
  const ending: Ending = { stopping: false, doing: new Set() };
  const contenders = clients.flatMap((one) =>
    Array.from({ length: WORKERS }, (_, i) =>
      i === 0 ? permits.compete(one, random.fork(), ending) : compete(one, all, random.fork(), checker, ending),
    ),
  );
  await Promise.all([trouble.rage(RAGE_MS), endBadly(others, random.fork())]);
  await sleep(300);
  ending.stopping = true;
  const drained = within(DRAIN_MS, 'everybody comes to an end when all is well again', Promise.all(contenders));
  await drained.catch(async (error: Error) => {
    checker.violation(`${error.message}: ${[...ending.doing].join(', ')}; ${await checker.shown([prefix])}`);
  });
  await permits.end();
  await forgetDead(others, fleet.name, direct);
  // What stays on purpose: the counters of the tokens.
  await checker.nothingLeft([prefix], DRAIN_MS, /redisson_lock_token/);
}

/** One dies and one freezes, at different times, wherever in the queue they stand. */
async function endBadly([first, second]: readonly StalledProcess[], random: Random): Promise<void> {
  await sleep(random.between(100, RAGE_MS));
  await first!.kill();
  await sleep(random.between(0, RAGE_MS / 2));
  second!.freeze();
}

/** Nobody asks for the lock any more, so the places of those who died in its queue are nobody's business. */
async function forgetDead(others: readonly StalledProcess[], name: string, direct: Redis): Promise<void> {
  await Promise.all(others.map((other) => other.kill()));
  await direct.del(
    name,
    `redisson_lock_queue:{${name}}`,
    `redisson_lock_timeout:{${name}}`,
    `redisson_lock_claim:{${name}}`,
  );
}

/** The last that Redis was told about the objects that the violations name, for whoever looks for the cause. */
async function history(seen: Monitor, violations: readonly string[]): Promise<string> {
  const named = new Set(violations.flatMap((violation) => violation.match(/round\d+:[\w-]+/g) ?? []));
  // Permits are given back when all the rest has come to its end, so they are always there.
  const names = named.size === 1 ? named : [...named].filter((name) => !name.endsWith(':permits'));
  const commands = (await seen.sent()).filter(({ args }) =>
    args.some((arg) => [...names].some((n) => arg.includes(n))),
  );
  const lines = commands.slice(-LAST_COMMANDS).map(({ at, source, args }) => {
    // The text of a script says no more than its keys and arguments do.
    const shown = args.map((arg) => (arg.length > 150 ? '...' : arg));
    return `${new Date(at).toISOString().slice(14)} ${source} ${shown.join(' ')}`;
  });
  return lines.join('\n');
}

/** A connection that no fault is for. */
function named(url: string): Redis {
  const redis = trackClient(new Redis(url, { connectionName: 'checker' }));
  redis.on('error', () => undefined);
  return redis;
}
