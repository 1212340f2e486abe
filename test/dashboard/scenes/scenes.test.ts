import { expect } from 'chai';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { ensureBuilt } from '../../../tools/buildOutput';
import { CliProcess, TIMEOUT_MS } from '../../cli/support/CliProcess';
import { sleepUntil, trackClient } from '../../support';
import { levelOf } from '../../../lib/operators/inspection/advice';
import { type Answers, askTools, type Gauges, troubleOnPage, verdictOnPage } from './askTools';
import { CROWD_SIZE, makeScene, type Scene, SCENES, type SceneName, type World } from './scenes';

/** What is to be said in a scene, and what is not. */
interface Expected {
  readonly verdict: string;
  /** How many locks are in trouble: no more than these. */
  readonly trouble: number;
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
    ...{ verdict: 'held', trouble: 0, callers: 4, holderKnown: true, silentOf: TROUBLE },
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
      trouble: 1,
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
      trouble: 1,
      callers: 4,
      holderKnown: true,
      silentOf: /stuck|dead-lock|gone/i,
      answers: false,
    },
    says: [
      /has not answered (?:for \d+(?:\.\d)?|within 2) s: it is frozen, or its event loop is busy/,
      /ends in (?:\d+ m )?\d+ s, at \S+Z/,
    ],
    gauges: (gauges) => {
      expect(gauges).to.have.length(2);
      expect(waiting(gauges)).to.equal(4);
      expect(oldest(gauges)).to.be.greaterThan(5);
    },
  },
  deadLock: {
    ...{ verdict: 'dead-lock', trouble: 2, callers: 3, holderKnown: true, silentOf: /gone|frozen|stuck/i },
    says: [/its holder waits for what another holder has, and that one, in the end, for this/],
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(5);
      expect(waiting(gauges)).to.equal(3);
    },
  },
  stuck: {
    ...{ verdict: 'stuck', trouble: 1, callers: 4, holderKnown: true, silentOf: /gone|frozen|dead-lock/i },
    says: [/renewed it \d+ times/, /It will not end by itself: check process PID on HOST, at \S+actor\.js:\d+:\d+/],
    gauges: (gauges) => {
      expect(gauges[0]!.longestHold).to.be.greaterThan(ALERT_S);
      expect(oldest(gauges)).to.be.greaterThan(ALERT_S);
    },
  },
  healthy: {
    ...{ verdict: 'held', trouble: 0, callers: 0, holderKnown: true, silentOf: TROUBLE },
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
      trouble: 1,
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
    ...{ verdict: 'held', trouble: 1, callers: 1, holderKnown: false, silentOf: /stuck|gone|frozen|dead-lock/i },
    ...{ answers: false, amber: true, held: false },
    says: [/^No permit is left; 1 connection waits/, /A caller has waited for/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(ALERT_S),
  },
  latch: {
    ...{ verdict: 'held', trouble: 1, callers: 1, holderKnown: false, silentOf: /stuck|gone|frozen|dead-lock/i },
    ...{ answers: false, amber: true, held: false },
    says: [/^The latch is closed: 1 count to go/, /A caller has waited for/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(ALERT_S),
  },
  noExpiry: {
    ...{ verdict: 'no-expiry', trouble: 1, callers: 1, holderKnown: true, silentOf: /stuck|gone|frozen|dead-lock/i },
    says: [/never expires: it is held until released/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.greaterThan(5),
  },
  leader: {
    ...{ verdict: 'held', trouble: 0, callers: 4, holderKnown: true, silentOf: /stuck|gone|frozen|dead-lock/i },
    says: [/^Held by process PID on HOST/, /A caller has waited for .*, as expected/],
    gauges: (gauges) => expect(gauges[0]!.longestHold).to.be.greaterThan(ALERT_S),
  },
  left: {
    ...{ verdict: 'held', trouble: 0, callers: 3, holderKnown: true, silentOf: TROUBLE },
    ...{ answers: false, held: false },
    says: [/^Held/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.within(5, ALERT_S),
  },
  ordered: {
    ...{ verdict: 'held', trouble: 0, callers: 1, holderKnown: true, silentOf: TROUBLE },
    says: [/^Held by process PID on HOST/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.within(5, ALERT_S),
  },
  throttle: {
    ...{ verdict: 'held', trouble: 0, callers: undefined, holderKnown: false, silentOf: TROUBLE },
    ...{ answers: false, held: false },
    says: [/^No permit is left/],
    gauges: (gauges) => expect(oldest(gauges)).to.be.lessThan(ALERT_S),
  },
  many: {
    ...{ verdict: 'stuck', trouble: 1, callers: 40, holderKnown: true, silentOf: /gone|frozen|dead-lock/i },
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
/** Those that take long ripen while the others are looked at. */
const LONG = PLAYED.filter(([, { ripensMs }]) => ripensMs > 20_000);

describe('scenes: what list, inspect, top, page, metrics and doctor say', function () {
  this.timeout(300_000);
  const ripening = new Map<SceneName, World>();
  const truths: Promise<string>[] = [];

  /** With SCENE_TIMES=1: how long after it has happened the page says it. */
  async function truthOf(name: SceneName, scene: Scene, world: World): Promise<string> {
    if (process.env['SCENE_TIMES'] === undefined) return '';
    const { verdict, amber } = EXPECTED[name];
    const told = async (): Promise<boolean> => {
      const now = await verdictOnPage(world, scene.lock).catch(() => undefined);
      return now?.kind === verdict && now.amber === amber;
    };
    await sleepUntil(told, { timeout: 120_000, interval: 100 }).catch(() => undefined);
    return `${name}: ${((performance.now() - world.happenedAt) / 1_000).toFixed(1)} s`;
  }

  after(async () => {
    for (const one of await Promise.all(truths)) if (one !== '') console.log(one);
  });

  before(async () => {
    ensureBuilt();
    await Promise.all(
      LONG.map(async ([name, scene]) => {
        const world = await makeScene(scene);
        ripening.set(name, world);
        truths.push(truthOf(name, scene, world));
      }),
    );
  });

  for (const [name, scene] of PLAYED) {
    describe(scene.title, () => {
      const { verdict, trouble, says, silentOf, callers, holderKnown, gauges } = EXPECTED[name];
      const { answers: isAnswered = true, amber, held = true } = EXPECTED[name];
      const shown = amber === true ? `${verdict}, long wait` : verdict;
      let world: World | undefined;
      let answers: Answers;
      let sentences: readonly RegExp[];
      let place: string;

      before(async () => {
        world = ripening.get(name) ?? (await makeScene(scene));
        if (!ripening.has(name)) truths.push(truthOf(name, scene, world));
        await world.ripe;
        // On a busy machine the page asks a silent process twice before it says so.
        const seen = world;
        const told = async (): Promise<boolean> => (await troubleOnPage(seen)) === trouble;
        await sleepUntil(told, { timeout: 30_000, interval: 250, message: `the page counts ${trouble} in trouble` });
        answers = await askTools(world, scene.lock, name === 'many');
        const { pid } = world.processes[0]!;
        place = `${hostname()}/${pid}`;
        sentences = says.map((one) => new RegExp(one.source.replace('PID', String(pid)).replace('HOST', hostname())));
      });

      after(() => world?.close());

      it('list', () => {
        const { list, listJson } = answers;
        const [head, first] = list.split('\n') as [string, string];
        expect(head).to.match(/^NAME +VERDICT +PROCESS +WAITERS/);
        // What is wrong stands first.
        if (trouble > 0) expect(first.split(/ {2,}/)[1]).to.equal(shown);
        const line = list.split('\n').find((one) => one.startsWith(`${scene.lock} `))!;
        if (held) expect(line).to.contain(holderKnown ? ` ${place} ` : ' gone ');
        if (callers !== undefined) {
          expect(line).to.match(callers === 0 ? / 0 / : new RegExp(` ${callers} for ${TIME}  `));
          // At 80 columns who, what is wrong and who waits are there.
          expect(line.indexOf(callers === 0 ? ' 0 ' : `${callers} for`)).to.be.within(1, 70);
        }
        const bad = listJson.filter((one) => levelOf(one.verdict) !== 'well');
        expect(bad.map((one) => one.verdict.kind)).to.deep.equal(Array<string>(trouble).fill(verdict));
        expect(bad.map((one) => one.verdict.amber)).to.deep.equal(Array<unknown>(trouble).fill(amber));
      });

      it('inspect', () => {
        const { inspect, inspectJson } = answers;
        expect(inspectJson.verdict.kind).to.equal(verdict);
        for (const one of sentences) expect(inspectJson.verdict.sentence).to.match(one);
        // The verdict, then what to do, each on a line of its own.
        expect(inspect).to.match(new RegExp(`^Verdict:     ${verdict}\\. .+\\n(?: .+\\n)*What to do:  .+\\n`));
        expect(inspectJson.verdict.sentence).not.to.match(silentOf);
        if (callers !== undefined && callers > 0)
          expect(inspect).to.match(new RegExp(`^Waiters: +${callers} for ${TIME}$`, 'm'));
        const waits = inspectJson.waiting?.reduce((sum, one) => sum + one.callers, 0) ?? 0;
        if (callers !== undefined) expect(waits).to.equal(callers);
        if (amber === true) expect(inspect).to.contain('something-hangs.md#semaphore-or-latch');
        if (verdict !== 'held') expect(inspect).to.contain(`something-hangs.md#${verdict}`);
        if (isAnswered) {
          expect(inspect).to.match(new RegExp(`^Held for: +${TIME}$`, 'm'));
          expect(inspect).to.match(/^Taken at: +\S+actor\.js:\d+:\d+$/m);
        }
      });

      it('top', () => {
        if (name !== 'many') expect(answers.top).to.match(new RegExp(`^${scene.lock} +${shown} `, 'm'));
        // Of those who have waited for long; the healthy fleet takes short turns at other locks.
        expect(answers.top).not.to.match(new RegExp(`^${scene.lock} .* for 0\\.0 s`, 'm'));
      });

      it('the page', () => {
        const { window, detail } = answers;
        expect(window.counts.trouble).to.equal(trouble);
        expect(detail.verdict.kind).to.equal(verdict);
        for (const one of sentences) expect(detail.verdict.sentence).to.match(one);
        expect(detail.verdict.sentence).not.to.match(silentOf);
        // Whoever can be asked has said since when, and where.
        if (isAnswered) {
          expect(detail.exact).to.equal(true);
          expect(detail.holders[0]!.hold?.callSite).to.match(/actor\.js:\d+:\d+$/);
        }
        if (callers !== undefined) expect(detail.waiters).to.equal(callers);
        if (trouble > 0) expect(window.rows[0]!.verdict.kind).to.equal(verdict);
        // The page has seen it alive: it knows whose it was.
        if (held) expect(detail.holders[0]!.process).to.include({ host: hostname(), pid: world!.processes[0]!.pid });
        const circle = detail.circle?.map(({ name: has, waitsFor }) => `${has} -> ${waitsFor}`).sort();
        const expected = ['account:1 -> account:2', 'account:2 -> account:1'];
        expect(circle).to.deep.equal(name === 'deadLock' ? expected : undefined);
      });

      it('metrics', () => gauges(answers.metrics));

      it('doctor: it is not Redis', () => {
        const { doctor } = answers;
        expect(doctor.filter(({ status }) => status === 'error')).to.deep.equal([]);
        expect(doctor.find(({ check }) => check === 'lock')).to.include({ status: 'ok' });
        // The server of the test keeps nothing.
        const other = doctor.filter(({ status, check }) => status !== 'ok' && check !== 'persistence');
        expect(other).to.deep.equal([]);
      });

      if (name === 'many') {
        it('a list of all takes few commands, and inspect next to none', async () => {
          const admin = trackClient(new Redis(world!.url));
          const calls = async (what: RegExp): Promise<number> => {
            const stats = await admin.info('commandstats');
            return [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)]
              .filter(([, command]) => what.test(command!))
              .reduce((sum, [, , count]) => sum + Number(count), 0);
          };
          const reads = /^(?:scan|type|pttl|hscan|hgetall|hlen|exists|pubsub.*)$/;
          const scripted = /^(?:type|pttl|hscan|exists)$/;
          await admin.config('RESETSTAT');
          const command = CliProcess.start(['list', '--json'], { env: { REDIS_URL: world!.url }, input: '' });
          expect(JSON.parse((await command.ended).stdout)).to.have.length(CROWD_SIZE);
          // Those of scripts count, too: they are no round trips. The page looks meanwhile.
          const [all, inside] = [await calls(reads), await calls(scripted)];
          expect(all - inside).to.be.lessThan(CROWD_SIZE / 10);
        });

        it('top shows it first before long', async () => {
          const top = CliProcess.start(['top'], { env: { REDIS_URL: world!.url }, input: '' });
          // A frame may be several megabytes, and a busy machine takes ten times as long as a quiet one.
          await top.prints(/OWNER\norder:31415 +stuck /, 2 * TIMEOUT_MS);
          const frames = top.stdout.split('ioredisson top').length - 1;
          expect(frames).to.be.lessThan(30);
          top.signal('SIGINT');
          await top.ended;
        }).timeout(3 * TIMEOUT_MS);
      }
    });
  }
});
