import * as crypto from 'node:crypto';
import { createRequire } from 'node:module';
import type { SinonFakeTimers } from 'sinon';
import type { LockHold, RLock } from '../../../lib/api';
import { ALL_KINDS, scriptsOf } from '../../../lib/kinds/allKinds';
import { fromBytes } from '../../../lib/testing/bytes';
import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';
import { TimeUnit } from '../../../lib/util/TimeUnit';
import { turn } from '../../../tools/realTimers';
import { Random } from '../../simulation/engine/Random';
import { fakeClock } from '../../support/fakeClock';
import { FuzzClient, type Target, targetsOf } from './FuzzClient';
import type { Observer } from './FuzzLink';
import { FuzzServer, type Refusal } from './FuzzServer';
import { type Held, Judge, until, type Violation, who } from './Judge';
import { type Mode, nameOf } from './modes';

/** What has come of a seed. */
export interface Outcome {
  readonly seed: number;
  readonly mode: Mode;
  readonly violations: readonly Violation[];
  readonly history: readonly string[];
  /** How many calls there were, and how many ended with an error. */
  readonly calls: number;
  readonly errors: number;
}

// What `require` gives to everybody: an import may be a copy of it.
const changeable = createRequire(__filename)('node:crypto') as object;
const MS = TimeUnit.MILLISECONDS;
/** How long nothing happens at the end before what is left counts: longer than any pause of an undo. */
const QUIET_MS = 12_000;
/** So many turns of the event loop are let pass where no timer is left. */
const IDLE_TURNS = 20;
/** How long an undo may go on. */
const LATER_MS = 120_000;
const WATCHDOG_MS = 30_000;
/** A command is answered within this time, in ms. */
const TIMEOUT_MS = 200;
/** The end of a seed that does not end by itself, in ms. */
const MAX_MS = 90_000;

const REFUSALS: readonly (Refusal & { readonly forGood?: true })[] = [
  { reply: 'NOREPLICAS Not enough good replicas to write.', what: 'writes' },
  { reply: "READONLY You can't write against a read only replica.", what: 'writes' },
  { reply: 'LOADING Redis is loading the dataset in memory', what: 'all' },
  { reply: 'TRYAGAIN Multiple keys request during rehashing of slot', what: 'all' },
  { reply: "OOM command not allowed when used memory > 'maxmemory'.", what: 'growth', forGood: true },
  { reply: "NOPERM this user has no permissions to run the 'evalsha' command", what: 'all', forGood: true },
];

const SCRIPTS = new Map<string, string>(
  ALL_KINDS.flatMap((kind) => scriptsOf(kind).map((script): [string, string] => [shaOf(script.lua), script.name])),
);

/** Runs one seed. Its clock is a fake one, which it gives back. */
export async function runSeed(seed: number, mode: Mode): Promise<Outcome> {
  const real = { random: Math.random, uuid: crypto.randomUUID, bytes: crypto.randomBytes };
  const random = new Random(seed);
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => random.below(256)));
  const uuid = (): string =>
    bytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
  const clock = fakeClock(1_000);
  Math.random = () => random.next();
  Object.assign(changeable, { randomUUID: uuid, randomBytes: bytes });
  try {
    return await new FuzzSeed(seed, mode, random, clock).run();
  } finally {
    Math.random = real.random;
    Object.assign(changeable, { randomUUID: real.uuid, randomBytes: real.bytes });
    clock.restore();
  }
}

interface Thread {
  readonly client: FuzzClient;
  readonly id: number;
  /** How its `lock()` and `tryLock()` take leases: -1, or always the same; then it has no holds of `acquire()`. */
  readonly leaseMs: number;
  /** Its holds of `lock()` and `tryLock()`. */
  readonly plain: { readonly held: Held; readonly target: Target }[];
  /** Those that an `unlock()` under way was meant for. */
  readonly unlocking: Set<Held>;
  /** How many acquisitions are under way. */
  acquiring: number;
}

class FuzzSeed implements Observer {
  readonly #seed: number;
  readonly #mode: Mode;
  readonly #random: Random;
  readonly #clock: SinonFakeTimers;
  readonly #server = new FuzzServer();
  readonly #judge: Judge;
  readonly #names = new Map<string, string>();
  readonly #clients: FuzzClient[];
  readonly #targets: readonly Target[];
  readonly #threads: Thread[] = [];
  /** What may have been lost: the client does not say which hold it was. */
  readonly #mayRemain: { readonly thread: Thread; readonly target: Target }[] = [];
  readonly #watchdogMs: number;
  readonly #tickets: {
    readonly ticket: string;
    readonly held: Held;
    readonly target: Target;
    readonly leaseMs: number;
  }[] = [];
  /** Calls under way. */
  readonly #open = new Map<object, string>();
  #calls = 0;
  #errors = 0;
  #troubleUntil = 0;
  #hadTrouble = false;
  #running = 0;

  constructor(seed: number, mode: Mode, random: Random, clock: SinonFakeTimers) {
    this.#seed = seed;
    this.#mode = mode;
    this.#random = random;
    this.#clock = clock;
    this.#targets = targetsOf(mode);
    this.#watchdogMs = mode.extra === 'renewals' ? 150 : WATCHDOG_MS;
    this.#judge = new Judge(this.#server, mode.local, this.#names, this.#watchdogMs);
    const clients = random.chance(mode.local ? 75 : 50) ? 1 : 2;
    const delay = (): number => 1 + random.below(8);
    this.#clients = Array.from({ length: clients }, (_, i) => {
      const options = { localHandOver: mode.local, watchdogMs: this.#watchdogMs, timeout: TIMEOUT_MS };
      const client = new FuzzClient('AB'[i]!, this.#server, options, delay, this);
      this.#names.set(client.id, client.label);
      client.redisson.onLockLost(({ name, threadId, cause }) => this.#lost(client, name, threadId, cause));
      client.redisson.onConnectionChange(({ state }) => state === 'closed' && this.#closed(client));
      return client;
    });
  }

  async run(): Promise<Outcome> {
    const { family, extra, trouble } = this.#mode;
    const random = this.#random;
    const perClient = this.#clients.length === 1 ? 3 : 2;
    for (const client of this.#clients) {
      for (let id = 1; id <= perClient; id++) {
        const leaseMs = family === 'multi' || random.chance(this.#long) ? -1 : this.#lease();
        const thread: Thread = { client, id, leaseMs, plain: [], unlocking: new Set(), acquiring: 0 };
        this.#threads.push(thread);
        const strands = 1 + random.below(4);
        for (let strand = 0; strand < strands; strand++) this.#start(this.#strand(thread));
      }
    }
    if (extra === 'force') this.#start(this.#force());
    if (extra === 'tickets') this.#start(this.#attach());
    if (extra === 'deploy') this.#start(this.#deploy(random.of(this.#clients)));
    if (trouble === 'retries') this.#server.refuses = () => random.chance(20) && random.of(REFUSALS.slice(0, 4)).reply;
    else if (trouble !== 'calm') this.#start(this.#trouble());
    await this.#turnsUntil(() => this.#running === 0 && this.#open.size === 0, MAX_MS);
    for (const { thread, target } of this.#mayRemain) this.#start(this.#sweep(thread, target));
    await this.#turnsUntil(() => this.#running === 0 && this.#open.size === 0, MAX_MS);
    for (const what of this.#open.values()) this.#judge.violate(`NEVER ENDS ${what}`);
    if (this.#open.size === 0) await this.#end();
    return {
      seed: this.#seed,
      mode: this.#mode,
      violations: this.#judge.violations,
      history: this.#judge.history,
      calls: this.#calls,
      errors: this.#errors,
    };
  }

  note(text: string): void {
    this.#judge.note(text);
  }

  ran(client: string, command: string, args: readonly string[], reply: Reply): void {
    const [first = '', ...others] = args;
    const isScript = /^eval/i.test(command);
    const name = isScript ? (SCRIPTS.get(first.length === 40 ? first : shaOf(first)) ?? first.slice(0, 8)) : command;
    if (name.endsWith('.renew') && !(reply instanceof RedisError)) this.#judge.renewed(args.map(fromBytes));
    if (name.endsWith('orceRelease') && !(reply instanceof RedisError)) {
      const by = this.#clients.find(({ label }) => label === client)!;
      if (by.forcedRuns < by.forcedCalls) {
        by.forcedRuns++;
        const claims = (this.#forcing.get(by) ?? []).flatMap((target) => target.claims);
        this.#judge.forced(claims);
      } else this.note(`${client} the same forced release runs again`);
    }
    const shown = (isScript ? others.slice(1) : args).map((arg) => this.#readable(arg)).filter((arg) => arg !== '');
    this.note(`      server: ${client} ${name} ${shown.join(' ')} -> ${this.#replyText(reply)}`);
  }

  readonly #forcing = new Map<FuzzClient, readonly Target[]>();

  #readable(arg: string): string {
    if (/^redisson_|^PUBLISH$/.test(arg)) return '';
    const text = arg.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => this.#names.get(id) ?? id.slice(0, 4));
    return text.length > 40 ? `${text.slice(0, 20)}…` : text.replaceAll(':', '.');
  }

  #replyText(reply: Reply): string {
    if (reply instanceof RedisError) return reply.message.slice(0, 40);
    if (reply instanceof Status) return reply.text;
    return reply === null ? 'nil' : JSON.stringify(reply);
  }

  /** Lets time pass from one thing to the next. */
  async #turnsUntil(over: () => boolean, atMost: number): Promise<void> {
    const end = performance.now() + atMost;
    while (!over() && performance.now() < end) {
      // What goes on without timers may take some turns of the event loop.
      for (let i = 0; i < IDLE_TURNS && this.#clock.countTimers() === 0 && !over(); i++) await turn();
      if (this.#clock.countTimers() === 0 && !over()) return;
      this.#clock.next();
      await turn();
      this.#judge.look();
    }
  }

  #start(strand: Promise<void>): void {
    this.#running++;
    strand.then(
      () => this.#running--,
      (error: unknown) => {
        this.#running--;
        this.#judge.violate(`THE FUZZER ITSELF ${String((error as Error).stack)}`);
      },
    );
  }

  #lease(): number {
    return this.#random.of([60, 150, 400, 1_500]);
  }

  /** How many of a hundred threads have no leases: only a long lease is passed on before Redis knows. */
  get #long(): number {
    return this.#mode.local ? 97 : 80;
  }

  /** How long a caller does something: only what Redis has confirmed a moment ago is passed on. */
  #work(most: number): Promise<void> {
    return this.#pause(this.#mode.local ? most / 3 : most);
  }

  #pause(most: number): Promise<void> {
    const ms = this.#random.below(Math.ceil(most) + 1);
    return new Promise((resolve) => void setTimeout(resolve, ms));
  }

  /** One call of a client: it is in the history, and it must end. @returns its value, or why it has failed */
  async #call<T>(
    by: { readonly client: FuzzClient; readonly id: number },
    text: string,
    call: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly error?: undefined } | { readonly error: Error & { code?: string } }> {
    const number = ++this.#calls;
    const what = `#${number} ${by.client.label}.${by.id} ${text}`;
    const key = {};
    this.#open.set(key, what);
    this.note(what);
    try {
      const value = await call();
      const shown = typeof value === 'boolean' ? ` ${String(value)}` : value === null ? ' null' : '';
      this.note(`#${number} ${by.client.label}.${by.id} ${text}: done${shown}`);
      return { value };
    } catch (error) {
      this.#errors++;
      const { code = (error as Error).name, message } = error as Error & { code?: string };
      this.note(`#${number} ${by.client.label}.${by.id} ${text}: ${code} ${message.slice(0, 100)}`);
      return { error: error as Error & { code?: string } };
    } finally {
      this.#open.delete(key);
    }
  }

  /** A signal that aborts soon, or none. */
  #signal(): { readonly signal?: AbortSignal } {
    if (!this.#random.chance(25)) return {};
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('the caller gave up')), 1 + this.#random.below(25));
    return { signal: controller.signal };
  }

  async #strand(thread: Thread): Promise<void> {
    const random = this.#random;
    const { client } = thread;
    const rounds = 2 + random.below(3);
    for (let round = 0; round < rounds && !client.closing; round++) {
      await this.#pause(12);
      // Mostly not beside another acquisition of the thread, which would be refused.
      for (let i = 0; thread.acquiring > 0 && i < 20 && random.chance(90); i++) await this.#pause(20);
      const target = random.of(this.#targets);
      const way = thread.leaseMs === -1 ? random.below(10) : 0;
      if (way < 3) await this.#plain(thread, target);
      else if (way < 5) await this.#object(thread, target);
      else if (way < 8) await this.#several(thread, target);
      else await this.#section(thread, target, 0);
    }
    // Whoever is the last gives back what is left.
    while (thread.plain.length > 0) {
      await this.#pause(5);
      await this.#unlockPlain(thread);
    }
  }

  /** Whether a call may wait for ever: where callers have several things, they could wait for each other. */
  get #mayWait(): boolean {
    return this.#targets.length === 1;
  }

  async #plain(thread: Thread, target: Target): Promise<void> {
    const { client, id, leaseMs } = thread;
    const random = this.#random;
    const options = { threadId: id, ...this.#signal() };
    const lock = target.of(client);
    const calledAt = performance.now();
    const waits = !this.#mayWait || random.chance(50);
    const waitMs = random.chance(40) ? 0 : random.below(200);
    const text = waits ? `tryLock(${waitMs}, ${leaseMs}) ${target.what}` : `lock(${leaseMs}) ${target.what}`;
    const taken = await this.#call(thread, `${text}${options.signal ? ' (aborts)' : ''}`, async () =>
      this.#acquiring(
        thread,
        waits ? lock.tryLock(waitMs, leaseMs, MS, options) : lock.lock(leaseMs, MS, options).then(() => true),
      ),
    );
    if (taken.error !== undefined) return this.#notTaken(thread, taken.error, options.signal);
    if (!taken.value) return;
    const held = this.#got(thread, target, calledAt, leaseMs);
    thread.plain.push({ held, target });
    await this.#work(15);
    for (let i = random.below(3); i > 0; i--) {
      await this.#unlockPlain(thread);
      await this.#pause(5);
    }
  }

  async #acquiring<T>(thread: Thread, call: Promise<T>): Promise<T> {
    thread.acquiring++;
    try {
      return await call;
    } finally {
      thread.acquiring--;
    }
  }

  /** Releases one hold of `lock()`. */
  async #unlockPlain(thread: Thread): Promise<void> {
    const { plain, client, id } = thread;
    if (plain.length === 0) return;
    const { target } = this.#random.of(plain);
    const same = plain.filter((one) => one.target.what === target.what);
    // Where the lease of one is over, the client may have forgotten it; then this would release another.
    const over = same.filter(({ held }) => performance.now() > held.until - 30);
    if (over.length > 0 && thread.leaseMs !== -1) {
      for (const { held } of over) Object.assign(held, { state: 'over', told: true });
      plain.splice(0, Infinity, ...plain.filter((one) => !over.includes(one)));
      return;
    }
    const last = same.reduce((one, other) => (other.held.until >= one.held.until ? other : one));
    plain.splice(plain.indexOf(last), 1);
    // It may be gone: then this releases whatever the thread has or gets.
    if (last.held.forced || last.held.gone) for (const { held } of plain) held.forced = true;
    thread.unlocking.add(last.held);
    await this.#release(thread, last.held, `unlock() ${target.what}`, () => target.of(client).unlock({ threadId: id }));
    thread.unlocking.delete(last.held);
  }

  async #sweep(thread: Thread, target: Target): Promise<void> {
    const { client, id } = thread;
    if (client.closing) return;
    await this.#call(thread, `unlock() ${target.what} (if it is still there)`, () =>
      target.of(client).unlock({ threadId: id }),
    );
  }

  async #release(thread: Thread, held: Held, text: string, release: () => Promise<void>): Promise<void> {
    this.#judge.ends(held);
    const ended = await this.#call(thread, text, release);
    if (ended.error !== undefined) this.#notReleased(held, ended.error, text);
    held.state = 'over';
  }

  async #object(thread: Thread, target: Target): Promise<void> {
    const taken = await this.#take(thread, target);
    if (taken === undefined) return;
    await this.#work(15);
    await this.#use(thread, target, taken.hold, taken.held);
  }

  /** A thread that enters several times, and leaves at about the same time. */
  async #several(thread: Thread, first: Target): Promise<void> {
    const random = this.#random;
    const uses: (() => Promise<void>)[] = [];
    let target = first;
    for (let i = 2 + random.below(2); i > 0; i--) {
      const own = target;
      const taken = await this.#take(thread, own);
      if (taken !== undefined) {
        uses.push(async () => {
          await this.#pause(6);
          await this.#use(thread, own, taken.hold, taken.held);
        });
      }
      if (random.chance(30)) target = random.of(this.#targets);
    }
    await Promise.all(uses.map((use) => use()));
  }

  async #take(thread: Thread, target: Target): Promise<{ readonly hold: LockHold; readonly held: Held } | undefined> {
    const { client, id } = thread;
    const random = this.#random;
    const leaseMs = random.chance(this.#long - 30) ? -1 : this.#lease();
    const maxRenewTimes =
      this.#mode.extra === 'renewals' && leaseMs === -1 && random.chance(40) ? 1 + random.below(2) : 0;
    const calledAt = performance.now();
    const single = random.chance(30);
    const waitTime = !single && (!this.#mayWait || random.chance(40)) ? { waitTime: 1 + random.below(200) } : {};
    const options = {
      ...{ threadId: id, unit: MS, ...waitTime },
      ...(leaseMs === -1 ? {} : { leaseTime: leaseMs }),
      ...(maxRenewTimes === 0 ? {} : { maxRenewTimes }),
      ...this.#signal(),
    };
    const lock = target.of(client);
    const { signal, unit: _unit, threadId: _thread, ...shown } = options;
    const what = `${single ? 'tryAcquireHold' : 'acquire'}(${JSON.stringify(shown)}) ${target.what}${signal ? ' (aborts)' : ''}`;
    const taken = await this.#call(thread, what, () =>
      this.#acquiring(thread, single ? lock.tryAcquireHold(options) : lock.acquire(options)),
    );
    if (taken.error !== undefined) this.#notTaken(thread, taken.error, signal);
    const hold = taken.error === undefined ? taken.value : null;
    return hold === null
      ? undefined
      : { hold, held: this.#got(thread, target, calledAt, leaseMs, maxRenewTimes, hold) };
  }

  /** What is done with the object of a hold, up to its end. */
  async #use(thread: Thread, target: Target, hold: LockHold, held: Held): Promise<void> {
    const random = this.#random;
    const unlock = (): Promise<void> =>
      this.#release(thread, held, `hold.unlock() ${target.what}`, () => hold.unlock());
    // Its renewals end while its thread enters again.
    if ((held.maxRenewals ?? 0) > 0) await this.#pause(200);
    for (let i = random.below(3); i > 0; i--) {
      this.#compare(hold, held);
      const extending = this.#extend(thread, target, hold, held);
      if (random.chance(50)) await extending;
      else {
        await this.#pause(6);
        await Promise.all([extending, unlock()]);
        return;
      }
      await this.#pause(10);
    }
    this.#compare(hold, held);
    if (this.#mode.extra === 'tickets' && random.chance(50)) {
      if (await this.#detach(thread, target, hold, held)) return;
    }
    await unlock();
  }

  async #extend(thread: Thread, target: Target, hold: LockHold, held: Held): Promise<void> {
    const leaseMs = this.#lease();
    const calledAt = performance.now();
    const before = held.until;
    held.until = Math.min(before, until(calledAt, leaseMs));
    const done = await this.#call(thread, `extend(${leaseMs}) ${target.what}`, () => hold.extend(leaseMs, MS));
    if (done.error === undefined) held.until = until(calledAt, leaseMs);
    else if (held.state === 'held') this.#notReleased(held, done.error, 'extend()', before);
    // Its caller has been told that it has it no more.
    if (held.state === 'held' && /LOST|MONITOR/.test(done.error?.code ?? '')) held.state = 'over';
  }

  async #section(thread: Thread, target: Target, depth: number): Promise<void> {
    const { client, id } = thread;
    const random = this.#random;
    const calledAt = performance.now();
    const leaseMs = random.chance(70) ? -1 : this.#lease();
    const waitTime = this.#mayWait && random.chance(50) ? {} : { waitTime: random.below(200) };
    const lease = leaseMs === -1 ? {} : { leaseTime: leaseMs };
    const options = { threadId: id, unit: MS, ...waitTime, ...lease, ...this.#signal() };
    let entered: Held | undefined;
    const done = await this.#call(thread, `withLock(${JSON.stringify({ ...waitTime, ...lease })}) ${target.what}`, () =>
      target.of(client).withLock(async (hold) => {
        const held = this.#got(thread, target, calledAt, leaseMs, 0, hold);
        entered = held;
        await this.#work(12);
        if (depth < 2 && random.chance(40)) await this.#section(thread, random.of(this.#targets), depth + 1);
        else if (random.chance(30)) await this.#extend(thread, target, hold, held);
        await this.#work(8);
        this.#compare(hold, held);
        this.#judge.ends(held);
      }, options),
    );
    if (entered === undefined) {
      if (done.error !== undefined) this.#notTaken(thread, done.error, options.signal);
      return;
    }
    if (done.error !== undefined) this.#notReleased(entered, done.error, `withLock() ${target.what}`);
    entered.state = 'over';
  }

  #got(thread: Thread, target: Target, calledAt: number, leaseMs: number, maxRenewals = 0, hold?: LockHold): Held {
    const { client, id } = thread;
    // A release under way may choose this hold instead of the one that was there first.
    const end = Math.min(until(calledAt, leaseMs), ...[...thread.unlocking].map((held) => held.until));
    const gone = [...thread.unlocking].some((one) => one.forced === true || one.gone === true);
    const held = this.#judge.got(calledAt, {
      ...(gone ? { forced: true } : {}),
      ...{ clientId: client.id, client: client.label, thread: id },
      ...{ what: target.what, claims: target.claims, until: end, maxRenewals },
    });
    hold?.signal.addEventListener('abort', () => this.#aborted(held, hold.signal.reason as Error), { once: true });
    if (hold?.signal.aborted) this.#aborted(held, hold.signal.reason as Error);
    return held;
  }

  /** The client says how long the hold lasts at least: Redis must have it for as long. */
  #compare(hold: LockHold, held: Held): void {
    if (!this.#judge.isLive(held) || held.gone || held.forced || held.givenUp) return;
    const { remainingLeaseMs, isHeld } = hold;
    if (!isHeld) return;
    const keptMs = this.#judge.keptMs(held);
    if (remainingLeaseMs <= keptMs + 1) return;
    this.#judge.violate(
      `UNTIL ${who(held)} counts on ${held.what} for ${remainingLeaseMs.toFixed(0)} ms, Redis keeps it for ${keptMs} ms`,
    );
  }

  #aborted(held: Held, reason: Error): void {
    this.note(`${who(held)} ${held.what}: its signal aborts: ${reason.message.slice(0, 120)}`);
    if (held.state !== 'held') return;
    if (
      this.#clients.some(({ label, closing }) => label === held.client && closing) &&
      /shut down/.test(reason.message)
    ) {
      return this.#judge.giveUp(held, 'shutdown');
    }
    held.told = true;
    if (this.#ranOut(reason)) held.gone = true;
    if (!this.#judge.mayBeLost(held)) this.#judge.violate(`FALSE LOSS ${who(held)} ${held.what}: its signal aborts`);
    if ((held.maxRenewals ?? 0) > 0 && !held.gone && !held.forced && performance.now() < held.until) {
      this.#judge.giveUp(held, 'maxRenewTimes');
    } else if (held.givenUp === undefined && !this.#closedClients.has(held.client)) held.state = 'over';
  }

  /** Whether renewals may have failed for so long: their lease is shorter than some troubles. */
  #ranOut({ message }: Error): boolean {
    const { extra, trouble } = this.#mode;
    return extra === 'renewals' && trouble !== 'calm' && /its lease (ran out|has ended)/.test(message);
  }

  readonly #closedClients = new Set<string>();

  /** The client says that a lock was lost. */
  #lost(client: FuzzClient, name: string, threadId: number, cause: Error): void {
    this.note(`${client.label}.${threadId} is told: ${cause.message.slice(0, 120)}`);
    const its = this.#judge.holds.filter(
      (held) =>
        held.clientId === client.id &&
        held.thread === threadId &&
        held.claims.some(({ key }) => key === name) &&
        (held.state !== 'over' || held.told),
    );
    if (this.#ranOut(cause)) for (const held of its) held.gone = true;
    if (its.length > 0 && !its.some((held) => held.told === true || this.#judge.mayBeLost(held))) {
      this.#judge.violate(`FALSE LOSS ${client.label}.${threadId} ${name}: onLockLost`);
    }
    // An unlock() by its thread would release another hold.
    const thread = this.#threads.find((one) => one.client === client && one.id === threadId);
    if (thread === undefined) return;
    for (const one of [...thread.plain]) {
      const { held } = one;
      if (!its.includes(held) || !(held.forced || held.gone || performance.now() >= held.until - 5)) continue;
      Object.assign(held, { state: 'over', told: true });
      thread.plain.splice(thread.plain.indexOf(one), 1);
      this.#mayRemain.push({ thread, target: one.target });
    }
  }

  /** The client is closed: it renews nothing from now on. */
  #closed(client: FuzzClient): void {
    client.closed = true;
    this.#closedClients.add(client.label);
    for (const held of this.#judge.holds) {
      if (held.clientId === client.id && this.#judge.isLive(held) && !held.gone && !held.forced) {
        this.#judge.giveUp(held, 'shutdown');
      }
    }
  }

  /** Codes that a call may end with in this mode. */
  #mayFail(code: string | undefined, client: FuzzClient): boolean {
    if (code === 'SHUTDOWN') return client.closing;
    if (this.#mode.trouble === 'calm' && !client.closing) return false;
    return ['CONNECTION', 'COMMAND', 'COMMAND_TIMEOUT'].includes(code ?? '');
  }

  #notTaken({ client, id }: Thread, error: Error & { code?: string }, signal: AbortSignal | undefined): void {
    const { code, message } = error;
    if (signal?.aborted === true && message === 'the caller gave up') return;
    if (code === 'LOCK_TIMEOUT' || code === 'ILLEGAL_MONITOR_STATE') return;
    if (code === 'LOCK_LOST' && /its lease of/.test(message)) return;
    if (code === 'SUBSCRIPTION_TIMEOUT' && this.#hadTrouble) return;
    if (this.#mayFail(code, client)) return;
    this.#judge.violate(`WRONG ERROR ${client.label}.${id} could not acquire: ${code ?? message} ${message}`);
  }

  #notReleased(held: Held, error: Error & { code?: string }, text: string, before = held.until): void {
    const { code, message } = error;
    const client = this.#clients.find(({ label }) => label === held.client)!;
    if (code === 'LOCK_LOST' || code === 'ILLEGAL_MONITOR_STATE') {
      if (this.#judge.mayBeLost(held) || client.closed || performance.now() >= before - 5) return;
      this.#judge.violate(`FALSE LOSS ${who(held)} ${text}: ${message.slice(0, 90)}`);
      return;
    }
    if (this.#mayFail(code, client)) return;
    this.#judge.violate(`WRONG ERROR ${who(held)} ${text}: ${code ?? ''} ${message}`);
  }

  async #force(): Promise<void> {
    const random = this.#random;
    for (let i = 1 + random.below(3); i > 0; i--) {
      await this.#pause(60);
      const client = random.of(this.#clients);
      if (client.closing) return;
      const target = random.of(this.#targets.filter(({ claims }) => claims.every(({ key }) => key === claims[0]!.key)));
      client.forcedCalls++;
      this.#forcing.set(client, [...(this.#forcing.get(client) ?? []), target]);
      if (this.#mode.trouble === 'breaks' && random.chance(60)) {
        setTimeout(() => client.link.break(random.of([0.5, 1]), 1 + random.below(10)), 2 + random.below(14));
      }
      const done = await this.#call({ client, id: 0 }, `forceUnlock() ${target.what}`, () =>
        target.of(client).forceUnlock(),
      );
      // Where it has failed its only copy may run later.
      if (done.error === undefined) {
        client.forcedCalls = client.forcedRuns;
        this.#forcing.delete(client);
      }
      if (done.error !== undefined && !this.#mayFail(done.error.code, client)) {
        this.#judge.violate(`WRONG ERROR forceUnlock(): ${done.error.message}`);
      }
    }
  }

  async #detach(thread: Thread, target: Target, hold: LockHold, held: Held): Promise<boolean> {
    const leaseMs = this.#random.of([600, 2_000]);
    const calledAt = performance.now();
    const before = held.until;
    held.until = Math.min(before, until(calledAt, leaseMs));
    held.state = 'ending';
    const done = await this.#call(thread, `detach(${leaseMs}) ${target.what}`, () =>
      hold.detach({ leaseTime: leaseMs, unit: MS }),
    );
    if (done.error === undefined) {
      held.state = 'over';
      const end = until(calledAt, leaseMs);
      const ticket = this.#judge.got(calledAt, { ...held, thread: -1, until: end, maxRenewals: 0 });
      this.#tickets.push({ ticket: done.value, held: ticket, target, leaseMs });
      return true;
    }
    const { code } = done.error;
    if (code === 'LOCK_LOST') this.#notReleased(held, done.error, 'detach()', before);
    else if (
      code !== 'ILLEGAL_MONITOR_STATE' &&
      code !== 'UNSUPPORTED_OPERATION' &&
      !this.#mayFail(code, thread.client)
    ) {
      this.#judge.violate(`WRONG ERROR detach(): ${code ?? ''} ${done.error.message}`);
    }
    held.state = hold.isHeld ? 'held' : 'over';
    if (held.state === 'held' && held.until < before) held.until = Math.min(before, held.until);
    return held.state === 'over';
  }

  /** Takes tickets over, with retries. */
  async #attach(): Promise<void> {
    const random = this.#random;
    while (this.#running > 1 || this.#tickets.length > 0) {
      await this.#pause(20);
      const one = this.#tickets.shift();
      const client = random.of(this.#clients);
      if (one === undefined || client.closing) continue;
      const { target, held: ticket } = one;
      const leaseMs = random.chance(50) ? -1 : this.#lease();
      for (let attempt = 0; attempt < 5; attempt++) {
        ticket.state = 'ending';
        const calledAt = performance.now();
        const done = await this.#call({ client, id: 0 }, `attach(${leaseMs}) ${target.what}`, () =>
          client.redisson.attach(one.ticket, leaseMs === -1 ? {} : { leaseTime: leaseMs, unit: MS }),
        );
        if (done.error === undefined) {
          const thread: Thread = {
            client,
            id: done.value.threadId,
            leaseMs: -1,
            plain: [],
            unlocking: new Set(),
            acquiring: 0,
          };
          const held = this.#got(thread, target, calledAt, leaseMs, 0, done.value);
          await this.#pause(15);
          this.#compare(done.value, held);
          await this.#release(thread, held, `hold.unlock() ${target.what}`, () => done.value.unlock());
          break;
        }
        if (done.error.code === 'LOCK_LOST') {
          if (!this.#judge.mayBeLost(ticket)) {
            this.#judge.violate(`FALSE LOSS of a ticket for ${target.what}: ${done.error.message.slice(0, 90)}`);
          }
          break;
        }
        if (!this.#mayFail(done.error.code, client)) {
          this.#judge.violate(`WRONG ERROR attach(): ${done.error.message}`);
          break;
        }
        await this.#pause(40);
      }
      ticket.state = 'over';
    }
  }

  /** A deploy: one client is shut down, with or without a drain. */
  async #deploy(client: FuzzClient): Promise<void> {
    const random = this.#random;
    await this.#pause(60);
    const drain = random.chance(50) ? 0 : 1 + random.below(60);
    client.closing = true;
    const done = await this.#call({ client, id: 0 }, `shutdown({ drain: ${drain} })`, () =>
      client.redisson.shutdown({ drain }),
    );
    if (done.error !== undefined) this.#judge.violate(`WRONG ERROR shutdown(): ${done.error.message}`);
  }

  async #trouble(): Promise<void> {
    const random = this.#random;
    const { trouble } = this.#mode;
    for (let i = 1 + random.below(trouble === 'breaks' ? 10 : 4); i > 0; i--) {
      await this.#pause(trouble === 'breaks' ? 25 : 50);
      this.#hadTrouble = true;
      if (trouble === 'breaks') {
        const client = random.of(this.#clients);
        const afterMs = 1 + random.below(20);
        if (random.chance(80)) client.link.break(random.of([0, 0.5, 1]), afterMs);
        else client.subscriber.break(afterMs);
      } else if (trouble === 'refusals') {
        const refusal = random.of(REFUSALS);
        this.note(`      server refuses: ${refusal.reply.slice(0, 10)}`);
        this.#server.refusal = refusal;
        await this.#pause(refusal.forGood === true ? 30 : 150);
        this.#server.refusal = undefined;
        this.note('      server refuses no more');
      } else {
        const ms = random.below(500);
        this.note(`      server hangs for ${ms} ms`);
        this.#server.frozenUntil = Math.max(this.#server.frozenUntil, performance.now() + ms);
        await this.#pause(ms);
      }
    }
    this.#troubleUntil = performance.now();
  }

  /** All calls have ended: nothing may be left. */
  async #end(): Promise<void> {
    const open = this.#clients.filter(({ closed }) => !closed);
    const quietUntil = Math.max(performance.now(), this.#troubleUntil) + QUIET_MS;
    setTimeout(() => undefined, QUIET_MS);
    await this.#turnsUntil(() => performance.now() >= quietUntil, QUIET_MS);
    this.note('the end');
    const excused = this.#judge.holds.some(({ gone, forced, givenUp }) => gone || forced || givenUp !== undefined);
    if (!excused && open.length === this.#clients.length) {
      const left = this.#server.keys.filter((key) => !/token/.test(key) && !this.#isOver(key));
      if (left.length > 0) {
        const shown = left.map((key) => {
          const value = this.#server.store.value(key);
          return `${key} ${value instanceof Map ? JSON.stringify([...value].map((pair) => pair.map((text) => this.#readable(text)))) : ''}`;
        });
        this.#judge.violate(`LEFT IN REDIS ${shown.join(', ')}`);
      }
    }
    // An undo of what may still arrive late lasts as long as a lease.
    const laterUntil = performance.now() + LATER_MS;
    setTimeout(() => undefined, LATER_MS);
    await this.#turnsUntil(() => performance.now() >= laterUntil, LATER_MS);
    for (const { redisson, label } of open) {
      const left = [...redisson.internals.ownerships.all()];
      if (left.length === 0) continue;
      this.#judge.violate(`LEFT IN THE TABLE of ${label}: ${left.map(({ key }) => this.#readable(key)).join(', ')}`);
    }
    await this.#shutDown();
  }

  /** Whether the times of all values of a group are over: the hash lives on until its own end. */
  #isOver(key: string): boolean {
    const { store } = this.#server;
    const value = store.value(key);
    const times = value instanceof Map ? [...value].filter(([field]) => field.endsWith(':expire_time')) : [];
    return times.length > 0 && times.every(([, time]) => Number(time) < store.now);
  }

  async #shutDown(): Promise<void> {
    let shut = 0;
    for (const { redisson } of this.#clients) void redisson.shutdown().then(() => shut++);
    await this.#turnsUntil(() => shut === this.#clients.length, 5_000);
    if (shut < this.#clients.length) this.#judge.violate('NEVER ENDS shutdown() at the end');
    await this.#turnsUntil(() => false, 1_000);
    if (this.#server.channels.length > 0) this.#judge.violate(`LEFT SUBSCRIBED ${this.#server.channels.join(', ')}`);
    if (this.#clock.countTimers() > 0) this.#judge.violate(`LEFT TIMERS ${this.#clock.countTimers()}`);
  }
}

function shaOf(text: string): string {
  return crypto.createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex');
}

/** A failure in a few lines: what is wrong, how to run it again, and what has happened to the owners in question. */
export function describeFailure({ seed, mode, violations, history }: Outcome, lines = 70): string {
  const first = violations[0]!;
  const upTo = history.findIndex((line) => line.includes('###'));
  const seen = history.slice(0, upTo + 1);
  const shown = seen.slice(-lines);
  return [
    `seed ${seed} of ${nameOf(mode)}: ${first.text}${violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''}`,
    `  again: FUZZ_SEED=${seed} FUZZ_MODE=${nameOf(mode)} npx mocha test/unit/order/fuzzer.test.ts`,
    ...(seen.length > shown.length ? [`  … ${seen.length - shown.length} lines before`] : []),
    ...shown.map((line) => `  ${line}`),
  ].join('\n');
}

export type { RLock };
