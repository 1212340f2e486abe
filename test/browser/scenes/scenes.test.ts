import { expect } from 'chai';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import type { Page } from 'puppeteer-core';
import { ensureBuilt } from '../../../tools/buildOutput';
import { chromePath, NO_BROWSER } from '../support/browser';
import { CliProcess, TIMEOUT_MS } from '../../cli/support/CliProcess';
import { skip, sleep, sleepUntil, trackClient } from '../../support';
import { levelOf } from '../../../lib/operators/inspection/advice';
import type { Finding } from '../../../lib/operators/doctor';
import {
  type CloseUp,
  closeUpOf,
  detailOnPage,
  doctorOf,
  type Gauges,
  type Overview,
  overviewOf,
  troubleOnPage,
} from './askTools';
import { CROWD_SIZE, play, type Scene, SCENES, type SceneName } from './scenes';
import { Spectator } from './Spectator';
import { type Play, Stage } from './Stage';

/** What is to be said in a scene, and what is not. */
interface Expected {
  readonly verdict: string;
  /** It comes and goes: the verdict may as well be this one. */
  readonly orVerdict?: string;
  /** The locks of the scene that are in trouble; all others are not. */
  readonly trouble: readonly string[];
  /** What every tool that has sentences says of the lock. */
  readonly says: readonly RegExp[];
  /** What none of them says. */
  readonly silentOf: RegExp;
  /** How many callers wait for the lock; `undefined`: that changes all the time. */
  readonly callers: number | undefined;
  /** Whether the name of the holder's process is known to who has not seen it alive. */
  readonly holderKnown: boolean;
  readonly gauges: (gauges: readonly Gauges[]) => void;
  /** Whether the holder answers, so that it is known since when and where it was taken. @default true */
  readonly answers?: boolean;
  /** Whether it is amber: nobody can tell whether that is trouble. */
  readonly amber?: true;
  /** Whether it is in lists. @default true */
  readonly listed?: boolean;
  /** Whether its holder is the first process of the scene. @default true */
  readonly held?: boolean;
}

/** The bound of the alert `IoredissonWaitTooLong`, in s. */
const ALERT_S = 30;
const oldest = (gauges: readonly Gauges[]): number => Math.max(...gauges.map(({ oldestWait }) => oldestWait));
const waiting = (gauges: readonly Gauges[]): number => gauges.reduce((sum, { waiters }) => sum + waiters, 0);

/** A time as the command line writes it. */
const TIME = '(?:\\d+ m )?\\d+(?:\\.\\d)? s';
const TROUBLE = /stuck|dead-?lock|gone|not connected|frozen|not answered|will not end/i;

const EXPECTED: Readonly<Record<SceneName, Expected>> = {
  three: {
    ...{ verdict: 'held', trouble: [], callers: 4, holderKnown: true, silentOf: TROUBLE },
    says: [/^Held by process PID on HOST, which is connected and renewed: it ends when it is released/],
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(5);
      expect([waiting(gauges), gauges[0]!.oldestWait]).to.deep.equal([4, 0]);
      expect(oldest(gauges)).to.be.within(5, ALERT_S);
    },
  },
  killed: {
    ...{
      verdict: 'holder-gone',
      trouble: ['billing:nightly'],
      callers: 4,
      holderKnown: false,
      silentOf: /stuck|dead-lock|frozen/i,
      answers: false,
    },
    says: [
      /^Held, but its holder.* is not connected to Redis: ended, or cut off/,
      /It ends in (?:\d+ m )?\d+ s, at \S+Z/,
    ],
    gauges: (gauges) => {
      expect(gauges).to.have.length(2);
      expect(waiting(gauges)).to.equal(4);
      expect(oldest(gauges)).to.be.greaterThan(5);
    },
  },
  frozen: {
    ...{
      verdict: 'not-renewed',
      trouble: ['export:parquet'],
      callers: 4,
      holderKnown: true,
      silentOf: /stuck|dead-lock|gone/i,
      answers: false,
    },
    says: [
      new RegExp(`has not answered (?:for ${TIME}|within 2 s): it is frozen, or its event loop is busy`),
      /ends in (?:\d+ m )?\d+ s, at \S+Z/,
    ],
    gauges: (gauges) => {
      expect(gauges).to.have.length(2);
      expect(waiting(gauges)).to.equal(4);
      expect(oldest(gauges)).to.be.greaterThan(5);
    },
  },
  deadLock: {
    ...{
      verdict: 'dead-lock',
      trouble: ['account:1', 'account:2'],
      callers: 3,
      holderKnown: true,
      silentOf: /gone|frozen|stuck/i,
    },
    says: [/its holder waits for what another holder has, and that one, in the end, for this/],
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(5);
      expect(waiting(gauges)).to.equal(3);
    },
  },
  stuck: {
    ...{
      verdict: 'stuck',
      trouble: ['ledger:close'],
      callers: 4,
      holderKnown: true,
      silentOf: /gone|frozen|dead-lock/i,
    },
    says: [/renewed it \d+ times/, /It will not end by itself: check process PID on HOST, at \S+actor\.js:\d+:\d+/],
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(ALERT_S);
      expect(oldest(gauges)).to.be.greaterThan(ALERT_S);
    },
  },
  healthy: {
    ...{ verdict: 'held', trouble: [], callers: 0, holderKnown: true, silentOf: TROUBLE },
    says: [/^Held/],
    // Held for long, as it should be: nobody waits.
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(ALERT_S);
      expect(oldest(gauges)).to.equal(0);
    },
  },
  busy: {
    ...{
      verdict: 'stuck',
      trouble: ['report:year'],
      callers: 4,
      holderKnown: true,
      silentOf: /gone|frozen|dead-lock/i,
      answers: false,
    },
    says: [/live process that still renews it; its main loop has been silent for .*, while a caller has waited for/],
    gauges: (gauges) => {
      expect(gauges).to.have.length(2);
      expect(oldest(gauges)).to.be.greaterThan(ALERT_S);
    },
  },
  permits: {
    ...{
      verdict: 'held',
      trouble: ['api:quota'],
      callers: 1,
      holderKnown: false,
      silentOf: /stuck|gone|frozen|dead-lock/i,
    },
    ...{ answers: false, amber: true, held: false },
    says: [/^No permit is left; 1 connection waits/, /A caller has waited for/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(ALERT_S),
  },
  latch: {
    ...{
      verdict: 'held',
      trouble: ['import:ready'],
      callers: 1,
      holderKnown: false,
      silentOf: /stuck|gone|frozen|dead-lock/i,
    },
    ...{ answers: false, amber: true, held: false },
    says: [/^The latch is closed: 1 count to go/, /A caller has waited for/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(ALERT_S),
  },
  free: {
    ...{
      verdict: 'free',
      trouble: ['api:batch'],
      callers: 1,
      holderKnown: false,
      silentOf: /stuck|gone|frozen|dead-lock/i,
    },
    ...{ answers: false, amber: true, held: false },
    says: [/^1 permit left; 1 connection waits/, /A caller has waited for/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(ALERT_S),
  },
  wrongType: {
    // It is in no list: nothing says that it is meant to be a lock, until somebody asks for one of that name.
    ...{ verdict: 'wrong-type', trouble: [], callers: 0, holderKnown: false, silentOf: TROUBLE },
    ...{ answers: false, held: false, listed: false },
    says: [/^The key holds data that are no lock/],
    gauges: (gauges) => expect(gauges).to.deep.equal([]),
  },
  prefixed: {
    ...{ verdict: 'held', trouble: [], callers: 0, holderKnown: true, silentOf: TROUBLE },
    says: [/^Held by process PID on HOST/],
    gauges: (gauges) => expect(gauges[0]!.longestHold).to.be.greaterThan(5),
  },
  noExpiry: {
    ...{
      verdict: 'no-expiry',
      trouble: ['cache:warm'],
      callers: 1,
      holderKnown: true,
      silentOf: /stuck|gone|frozen|dead-lock/i,
    },
    says: [/never expires: it is held until released/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(5),
  },
  leader: {
    ...{ verdict: 'held', trouble: [], callers: 4, holderKnown: true, silentOf: /stuck|gone|frozen|dead-lock/i },
    says: [/^Held by process PID on HOST/, /A caller has waited for .*, as expected/],
    gauges: (gauges) => expect(gauges[0]!.longestHold).to.be.greaterThan(ALERT_S),
  },
  left: {
    ...{ verdict: 'held', trouble: [], callers: 3, holderKnown: true, silentOf: TROUBLE },
    ...{ answers: false, held: false },
    says: [/^Held/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.within(5, ALERT_S),
  },
  ordered: {
    ...{ verdict: 'held', trouble: [], callers: 1, holderKnown: true, silentOf: TROUBLE },
    says: [/^Held by process PID on HOST/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.within(5, ALERT_S),
  },
  throttle: {
    ...{ verdict: 'held', orVerdict: 'free', trouble: [], callers: undefined, holderKnown: false, silentOf: TROUBLE },
    ...{ answers: false, held: false },
    says: [/^(?:No permit is|\d permits?) left; /],
    gauges: (gauges) => expect(oldest(gauges)).to.be.lessThan(ALERT_S),
  },
  many: {
    ...{
      verdict: 'stuck',
      trouble: ['order:3141'],
      callers: 40,
      holderKnown: true,
      silentOf: /gone|frozen|dead-lock/i,
    },
    says: [/It will not end by itself: check process PID on HOST/],
    gauges: (gauges) => {
      expect(waiting(gauges)).to.equal(40);
      expect(oldest(gauges)).to.be.greaterThan(ALERT_S);
    },
  },
};

/** `SCENES=stuck,busy` plays these only. */
const chosen = process.env['SCENES']?.split(',');
const PLAYED = (Object.entries(SCENES) as [SceneName, Scene][]).filter(([name]) => chosen?.includes(name) ?? true);
const isFleeting = ([, { fleeting }]: readonly [SceneName, Scene]): boolean => fleeting === true;
/** Those that last for a short time only are played when the others have become what they are to be. */
const LASTING = PLAYED.filter((one) => !isFleeting(one));
const FLEETING = PLAYED.filter(isFleeting);
/** How long fleeting scenes take until they are ripe, in ms. */
const FLEETING_MS = 13_000;

/** All scenes are played at once, on one server: a healthy twin must stay green beside what is wrong. */
describe('scenes: what list, inspect, top, page, metrics and doctor say', function () {
  this.timeout(540_000);
  const plays = new Map<SceneName, Play>();
  const overviews = new Map<Stage, Overview>();
  const doctors = new Map<Stage, readonly Finding[]>();
  const closeUps = new Map<SceneName, Promise<CloseUp>>();
  const looks = new Map<string, Promise<void>>();
  const truths: Promise<string>[] = [];
  let spectator: Spectator | undefined;
  let looked: Promise<unknown> = Promise.resolve();
  let stage: Stage;
  /** For those that need one of their own. */
  let own: Stage | undefined;

  /** With SCENE_TIMES=1: how long after it has happened the page says it. */
  async function truthOf(name: SceneName, { stage, happenedAt }: Play): Promise<string> {
    if (process.env['SCENE_TIMES'] === undefined) return '';
    const { verdict, amber } = EXPECTED[name];
    const told = async (): Promise<boolean> => {
      const now = await detailOnPage(stage, SCENES[name].lock).catch(() => undefined);
      return now?.verdict.kind === verdict && now.verdict.amber === amber;
    };
    await sleepUntil(told, { timeout: 120_000, interval: 50 });
    return `${name}: ${((performance.now() - happenedAt) / 1_000).toFixed(1)} s`;
  }

  async function start([name, scene]: readonly [SceneName, Scene]): Promise<void> {
    const one = await play(scene, (scene.alone === true ? own : stage)!);
    plays.set(name, one);
    truths.push(truthOf(name, one));
  }

  /** Whoever waits for it gets the error; nobody may do so for a while. */
  function later<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    return promise;
  }

  /** Looks at a page when those before have been looked at: a browser opens few streams of one server. */
  function look(what: string, open: () => Promise<Page>): void {
    if (spectator === undefined) return;
    const run = looked.then(async () => spectator!.look(await open(), what));
    looks.set(what, run);
    looked = run.catch(() => undefined);
  }

  /** Reads the page of a scene when it is ripe. */
  async function read(name: SceneName): Promise<Page> {
    const one = plays.get(name)!;
    await one.ripe();
    return spectator!.read(name, one);
  }

  function closeUp(scenes: readonly (readonly [SceneName, Scene])[]): Promise<unknown> {
    for (const [name, { lock }] of scenes) closeUps.set(name, later(closeUpOf(plays.get(name)!, lock)));
    return Promise.allSettled(scenes.map(([name]) => closeUps.get(name)!));
  }

  /** Until the page of a stage counts those in trouble that are: it asks a silent process twice before it says so. */
  async function untilTold(on: Stage): Promise<void> {
    const expected = [...plays].filter(([, one]) => one.stage === on).flatMap(([name]) => troubleOf(name));
    let found: readonly string[] = [];
    const told = async (): Promise<boolean> => {
      found = await troubleOnPage(on);
      return found.join() === expected.sort().join();
    };
    const message = (): string => `the page says ${expected.join('; ')}, not ${found.join('; ')}`;
    await sleepUntil(told, { timeout: 30_000, interval: 250, message });
  }

  before(async () => {
    ensureBuilt();
    [spectator, stage, own] = await Promise.all([
      chromePath() === undefined ? undefined : Spectator.start(),
      Stage.open(),
      PLAYED.some(([, { alone }]) => alone === true) ? Stage.open() : undefined,
    ]);
    await Promise.all(LASTING.map(start));
    const isEarly = ([, { ripensMs }]: readonly [SceneName, Scene]): boolean => ripensMs < FLEETING_MS;
    for (const [name] of LASTING.filter(isEarly)) look(name, () => read(name));
    const ripeAt = Math.max(...[...plays.values()].map((one) => one.ripeAt));
    await sleep(Math.max(0, ripeAt - FLEETING_MS - performance.now()));
    // Nothing else is to be done while the fleeting ones are looked at: somebody has waited for them for 30 s soon.
    await looked;
    await Promise.all(FLEETING.map(start));
    await Promise.all([...plays.values()].map((one) => one.ripe()));
    await untilTold(stage);
    const asked = closeUp(FLEETING);
    const overview = overviewOf(stage);
    const pages = spectator === undefined ? [] : FLEETING.map(([name]) => [name, later(read(name))] as const);
    await Promise.all([overview, asked]);
    for (const [name, page] of pages) look(name, () => page);
    overviews.set(stage, await overview);

    if (own !== undefined) {
      await untilTold(own);
      overviews.set(own, await overviewOf(own, true));
    }
    for (const [name] of LASTING.filter((one) => !isEarly(one))) look(name, () => read(name));
    for (const on of overviews.keys()) look(listOf(on), () => spectator!.list(on));
    await closeUp(LASTING);
    for (const on of overviews.keys()) doctors.set(on, await doctorOf(on));
  });

  /** What the look at the list of a stage is called. */
  function listOf(on: Stage): string {
    return on === own ? 'list-many' : 'list';
  }

  after(async () => {
    for (const one of await Promise.all(truths)) if (one !== '') console.log(one);
  });

  /** The troubles of a scene, as the page shows them. */
  function troubleOf(name: SceneName): readonly string[] {
    const { trouble, verdict, amber } = EXPECTED[name];
    return trouble.map((lock) => `${lock} ${verdict}${amber === true ? ', long wait' : ''}`);
  }

  it('no lock is in trouble but those that are, and Redis is well', () => {
    for (const [stage, { list, listJson, window, health }] of overviews) {
      const names = [...plays].filter(([, one]) => one.stage === stage).map(([name]) => name);
      const troubles = names.flatMap(troubleOf).sort();
      const bad = listJson.filter(({ verdict }) => levelOf(verdict) !== 'well');
      const texts = bad.map(
        ({ name, verdict: { kind, amber } }) => `${name} ${kind}${amber === true ? ', long wait' : ''}`,
      );
      expect(texts.sort()).to.deep.equal(troubles);
      expect(window.counts.trouble).to.equal(troubles.length);
      // What is wrong stands first.
      const lines = list.split('\n');
      expect(lines[0]).to.match(/^NAME +VERDICT +PROCESS +WAITERS/);
      const first = lines.slice(1, troubles.length + 1).map((line) => line.split(/ {2,}/).slice(0, 2).join(' '));
      expect(first.sort()).to.deep.equal(troubles);
      const onPage = window.rows.slice(0, troubles.length).map(({ name }) => name);
      expect(onPage.sort()).to.deep.equal(bad.map(({ name }) => name).sort());
      expect(health).to.include({ state: 'ok', message: '' }).and.not.to.have.property('lost');
    }
  });

  it('the list in a browser: axe-core finds nothing, and nothing is wider than a phone', async function () {
    if (spectator === undefined) skip(this, NO_BROWSER);
    await Promise.all([...overviews.keys()].map((on) => looks.get(listOf(on))!));
  });

  for (const [name, scene] of PLAYED) {
    describe(scene.title, () => {
      const { verdict, orVerdict = verdict, trouble, says, silentOf, callers, holderKnown, gauges } = EXPECTED[name];
      const { answers: isAnswered = true, amber, held = true, listed = true } = EXPECTED[name];
      const shown = amber === true ? `${verdict}, long wait` : `(?:${verdict}|${orVerdict})`;
      let on: Stage;
      let overview: Overview;
      let seen: CloseUp;
      let sentences: readonly RegExp[];
      let pid: number | undefined;

      before(async () => {
        const one = plays.get(name)!;
        on = one.stage;
        overview = overviews.get(on)!;
        seen = await closeUps.get(name)!;
        pid = one.processes[0]?.pid;
        sentences = says.map((said) => new RegExp(said.source.replace('PID', String(pid)).replace('HOST', hostname())));
      });

      it('list', () => {
        const { list, listJson } = overview;
        const line = list.split('\n').find((one) => one.startsWith(`${scene.lock} `));
        if (!listed) {
          expect(line).to.equal(undefined);
          return expect(listJson.filter((one) => one.name === scene.lock)).to.deep.equal([]);
        }
        if (held) expect(line).to.contain(holderKnown ? ` ${hostname()}/${pid} ` : ' gone ');
        if (callers !== undefined) {
          expect(line).to.match(callers === 0 ? / 0 / : new RegExp(` ${callers} for ${TIME}  `));
          // At 80 columns who, what is wrong and who waits are there.
          expect(line!.indexOf(callers === 0 ? ' 0 ' : `${callers} for`)).to.be.within(1, 70);
        }
        const json = listJson.find((one) => one.name === scene.lock)!.verdict;
        expect(json.kind).to.be.oneOf([verdict, orVerdict]);
        return expect(json.amber).to.equal(amber);
      });

      it('inspect', () => {
        const { inspect, inspectJson } = seen;
        expect(inspectJson.verdict.kind).to.be.oneOf([verdict, orVerdict]);
        expect(inspectJson.verdict.amber).to.equal(amber);
        for (const one of sentences) expect(inspectJson.verdict.sentence).to.match(one);
        // The verdict, then what to do, each on a line of its own.
        expect(inspect).to.match(
          new RegExp(`^Verdict:     (?:${verdict}|${orVerdict})\\. .+\\n(?: .+\\n)*What to do:  .+\\n`),
        );
        expect(inspectJson.verdict.sentence).not.to.match(silentOf);
        if (callers !== undefined && callers > 0)
          expect(inspect).to.match(new RegExp(`^Waiters: +${callers} for ${TIME}$`, 'm'));
        const waits = inspectJson.waiting?.reduce((sum, one) => sum + one.callers, 0) ?? 0;
        if (callers !== undefined) expect(waits).to.equal(callers);
        if (amber === true) expect(inspect).to.contain('something-hangs.md#semaphore-or-latch');
        else if (verdict !== 'held') expect(inspect).to.contain(`something-hangs.md#${verdict}`);
        if (isAnswered) {
          expect(inspect).to.match(new RegExp(`^Held for: +${TIME}$`, 'm'));
          expect(inspect).to.match(/^Taken at: +\S+actor\.js:\d+:\d+$/m);
        }
      });

      it('top', () => {
        const { top } = overview;
        if (!listed) return expect(top).not.to.match(new RegExp(`^${scene.lock} `, 'm'));
        if (name !== 'many') expect(top).to.match(new RegExp(`^${scene.lock} +${shown} `, 'm'));
        // Of those who have waited for long; the healthy fleet takes short turns at other locks.
        return expect(top).not.to.match(new RegExp(`^${scene.lock} .* for 0\\.0 s`, 'm'));
      });

      it('the page', () => {
        const { detail } = seen;
        expect(detail.verdict.kind).to.be.oneOf([verdict, orVerdict]);
        expect(detail.verdict.amber).to.equal(amber);
        for (const one of sentences) expect(detail.verdict.sentence).to.match(one);
        expect(detail.verdict.sentence).not.to.match(silentOf);
        // Whoever can be asked has said since when, and where.
        if (isAnswered) {
          expect(detail.exact).to.equal(true);
          expect(detail.holders[0]!.hold?.callSite).to.match(/actor\.js:\d+:\d+$/);
        }
        if (callers !== undefined) expect(detail.waiters).to.equal(callers);
        // The page has seen it alive: it knows whose it was.
        if (held) expect(detail.holders[0]!.process).to.include({ host: hostname(), pid });
        const circle = detail.circle?.map(({ name: has, waitsFor }) => `${has} -> ${waitsFor}`).sort();
        const expected = ['account:1 -> account:2', 'account:2 -> account:1'];
        expect(circle).to.deep.equal(name === 'deadLock' ? expected : undefined);
        const row = overview.window.rows.find((one) => one.name === scene.lock);
        if (trouble.length > 0) expect(row?.verdict.kind).to.equal(verdict);
      });

      it('the page in a browser: who, since when, why, what to do; axe-core finds nothing; it fits a phone', async function () {
        if (spectator === undefined) skip(this, NO_BROWSER);
        await looks.get(name);
      });

      it('metrics', () => gauges(seen.metrics));

      it('doctor: it is not Redis', () => {
        const doctor = doctors.get(on)!;
        expect(doctor.filter(({ status }) => status === 'error')).to.deep.equal([]);
        expect(doctor.find(({ check }) => check === 'lock')).to.include({ status: 'ok' });
        // The server of the test keeps nothing.
        const other = doctor.filter(({ status, check }) => status !== 'ok' && check !== 'persistence');
        expect(other).to.deep.equal([]);
      });

      if (name === 'many') {
        it('a list of all takes few commands, and inspect next to none', async () => {
          const admin = trackClient(new Redis(on.url));
          const calls = async (what: RegExp): Promise<number> => {
            const stats = await admin.info('commandstats');
            return [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)]
              .filter(([, command]) => what.test(command!))
              .reduce((sum, [, , count]) => sum + Number(count), 0);
          };
          const reads = /^(?:scan|type|pttl|hscan|hgetall|hlen|exists|pubsub.*)$/;
          const scripted = /^(?:type|pttl|hscan|exists)$/;
          await admin.config('RESETSTAT');
          const command = CliProcess.start(['list', '--json'], { env: { REDIS_URL: on.url }, input: '' });
          expect(JSON.parse((await command.ended).stdout)).to.have.length(CROWD_SIZE);
          // Those of scripts count, too: they are no round trips. The page looks meanwhile.
          const [all, inside] = [await calls(reads), await calls(scripted)];
          expect(all - inside).to.be.lessThan(CROWD_SIZE / 10);
        });

        it('top shows it first before long', async () => {
          const top = CliProcess.start(['top'], { env: { REDIS_URL: on.url }, input: '' });
          // A frame may be several megabytes, and a busy machine takes ten times as long as a quiet one.
          await top.prints(/OWNER\norder:3141 +stuck /, 2 * TIMEOUT_MS);
          const frames = top.stdout.split('ioredisson top').length - 1;
          expect(frames).to.be.lessThan(30);
          top.signal('SIGINT');
          await top.ended;
        }).timeout(3 * TIMEOUT_MS);
      }
    });
  }
});
