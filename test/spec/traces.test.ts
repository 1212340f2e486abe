import { expect } from 'chai';
import { MUTATIONS } from '../simulation/mutations/list';
import { skip } from '../support';
import { whyNoTlc } from './support/tlc';
import { checkTraces, type Finding, type Trace, tracesOf, type WorldKind, WORLDS, Written } from './support/traces';

/** Worlds of lib as it is: so many of each kind. */
const COUNTS: Readonly<Record<WorldKind, number>> = { plain: 60, local: 30, failover: 30, leases: 40 };
/** Mutations of lib that show in the traces of the first worlds of a kind: of so many. */
const NOTICED: Readonly<Record<string, readonly [WorldKind, number]>> = {
  'exclusion broken: whoever asks gets the lock': ['plain', 4],
  'release without asking for the owner': ['plain', 5],
  'the deadline counts from the reply': ['plain', 12],
  'deadlines pass unnoticed for a while': ['plain', 12],
  'what was released is renewed on': ['plain', 4],
  'no undo': ['plain', 20],
  'a wait that ends forgets the attempt under way': ['plain', 20],
  'a release names the thread that gives the lock back, not the one on record': ['local', 12],
  'an unlock resolves by the command before the one that covers it': ['local', 20],
  'a thread comes twice: the lock goes in a circle': ['local', 8],
  'the watchdog renews what somebody else holds': ['failover', 21],
  'a renewal that finds the lock gone says nothing': ['failover', 21],
  'a release takes one hold off, instead of saying how many are left': ['leases', 3],
  'a shorter lease counts only when Redis has confirmed it': ['leases', 6],
  'an extension gives the lock back': ['leases', 3],
  'a shutdown forgets the holds that it leaves to expire': ['leases', 9],
};

/** One process has the lock, and works under it until then. It never renews: its lease of a second began at 0. */
function worksUntil(at: number): Trace {
  const trace = new Written();
  const id = trace.send(0, 'p0', 'acquire', { lease: 1_000, count: 1 });
  trace.run(5, id, 'yes').read(10, id).tell(10, 'enter', 'p0').tell(at, 'leave', 'p0');
  return trace.end(20_000);
}

/** What differs from what should happen. */
interface Tampered {
  /** The answer to the second process, while the first one has the lock. */
  readonly answer?: readonly ['yes' | 'no', number];
  /** The second process works all the same. */
  readonly barges?: boolean;
  /** The renewal is one of the second process. */
  readonly renewedBy?: 'p0' | 'p1';
  /** How many holds the release leaves. */
  readonly left?: number;
  /** The first process reads an answer that the server has not given. */
  readonly unanswered?: boolean;
  /** What the command that comes late does. */
  readonly late?: 'yes' | 'gone';
}

/** Two processes, one after the other. The connection of the second one breaks under its release, which comes late. */
function twoProcesses(tampered: Tampered = {}): Trace {
  const { answer = ['no', 980], barges = false, renewedBy = 'p0', left = 0 } = tampered;
  const { unanswered = false, late = 'gone' } = tampered;
  const trace = new Written();
  const first = trace.send(0, 'p0', 'acquire', { lease: 1_000, count: 1 });
  trace.run(5, first, 'yes').read(10, first).tell(10, 'enter', 'p0');
  const refused = trace.send(20, 'p1', 'acquire', { lease: 1_000, count: 1 });
  trace.run(25, refused, ...answer).read(30, refused);
  if (barges) trace.tell(31, 'enter', 'p1').tell(32, 'leave', 'p1');
  const renewal = trace.send(300, renewedBy, 'renew', { lease: 1_000 });
  trace.run(305, renewal, 'yes').read(310, renewal).tell(1_200, 'leave', 'p0');
  const release = trace.send(1_200, 'p0', 'release', { count: left });
  if (!unanswered) trace.run(1_205, release, 'yes', 0);
  trace.read(1_210, release);
  const second = trace.send(1_212, 'p1', 'acquire', { lease: 1_000, count: 1 });
  trace.run(1_215, second, 'yes').read(1_220, second).tell(1_220, 'enter', 'p1').tell(1_400, 'leave', 'p1');
  const lost = trace.send(1_400, 'p1', 'release');
  trace.close(1_402, 'p1');
  const again = trace.send(1_410, 'p1', 'release');
  trace.run(1_415, again, 'yes', 0).read(1_420, again).run(1_500, lost, late, 0);
  return trace.end(20_000);
}

/** A call gives up while its attempt is under way, which then succeeds. */
function gaveUp(undone: boolean): Trace {
  const trace = new Written();
  const id = trace.send(0, 'p0', 'acquire', { lease: 15_000, count: 1 });
  trace.tell(3, 'quit', 'p0');
  const undo = undone ? trace.send(3, 'p0', 'release') : undefined;
  trace.run(5, id, 'yes');
  if (undo !== undefined) trace.run(5, undo, 'yes', 0);
  trace.read(10, id);
  if (undo !== undefined) trace.read(10, undo);
  return trace.end(20_000);
}

/** What differs from what should happen where a lock is passed on before Redis knows. */
interface Passed {
  /** How long the first thread works after its command was answered. @default 10 */
  readonly after?: number;
  /** Whom the release names. @default the second thread, which Redis knows */
  readonly releases?: string;
  /** It is not allowed. */
  readonly forbidden?: boolean;
  /** The first thread works on meanwhile. */
  readonly both?: boolean;
}

/** A thread passes its lock on to the next one of its process, which works at once. */
function passesOn({ after = 10, releases = 'p0:2', forbidden = false, both = false }: Passed = {}): Trace {
  const trace = new Written(!forbidden);
  const first = trace.send(0, 'p0', 'acquire', { lease: 1_000, count: 1 });
  trace.run(5, first, 'yes').read(10, first).tell(10, 'enter', 'p0');
  const at = 10 + after;
  if (!both) trace.tell(at, 'leave', 'p0');
  const move = trace.send(at, 'p0', 'move', { heir: 'p0:2', lease: 1_000 });
  trace.tell(at, 'enter', 'p0:2').run(at + 5, move, 'yes');
  if (both) trace.tell(at + 6, 'leave', 'p0');
  trace.read(at + 10, move).tell(at + 20, 'leave', 'p0:2');
  const release = trace.send(at + 20, releases, 'release');
  trace.run(at + 25, release, 'yes', 0).read(at + 30, release);
  return trace.end(20_000);
}

/** What differs from what should happen when a server dies that has told its replica nothing. */
interface Forgotten {
  /** What the replica has. @default nothing */
  readonly has?: readonly [string, number];
  /** Whoever had the lock works on after it has heard of the loss. */
  readonly deaf?: boolean;
  /** And renews the lock of the other process. */
  readonly renews?: boolean;
}

/** Somebody has the lock. The server dies, and forgets it. Somebody else gets it, and the first one hears of that. */
function forgets({ has, deaf = false, renews = false }: Forgotten = {}): Trace {
  const trace = new Written();
  const first = trace.send(0, 'p0', 'acquire', { lease: 1_000, count: 1 });
  trace.run(5, first, 'yes').read(10, first).tell(10, 'enter', 'p0');
  trace.failOver(100, has?.[0], has?.[1]).close(101, 'p0');
  const second = trace.send(200, 'p1', 'acquire', { lease: 1_000, count: 1 });
  trace.run(205, second, 'yes').read(210, second).tell(210, 'enter', 'p1');
  const check = trace.send(300, 'p0', 'renew', { lease: 1_000 });
  trace.run(305, check, renews ? 'yes' : 'gone', 0).read(310, check);
  trace.tell(deaf ? 311 : 310, 'leave', 'p0').tell(400, 'leave', 'p1');
  const release = trace.send(400, 'p1', 'release');
  trace.run(405, release, 'yes', 0).read(410, release);
  return trace.end(20_000);
}

describe('traces of the simulation, checked by TLC', function () {
  // On a busy machine; each run takes half a minute of one core.
  this.timeout(600_000);
  this.slow(240_000);

  before(async function () {
    const reason = await whyNoTlc();
    if (reason !== undefined) skip(this, reason);
  });

  let traces: Readonly<Record<WorldKind, readonly Trace[]>>;

  it('worlds with broken connections, late commands, localHandOver and failovers that forget are behaviours of it', async () => {
    traces = {
      plain: await tracesOf('plain', 1, COUNTS.plain),
      local: await tracesOf('local', 1, COUNTS.local),
      failover: await tracesOf('failover', 1, COUNTS.failover),
      leases: await tracesOf('leases', 1, COUNTS.leases),
    };
    const all = WORLDS.flatMap((kind) => traces[kind].map((trace) => ({ kind, trace })));
    const findings = await checkTraces(all.map(({ trace }) => trace));
    const refused = findings.flatMap(({ accepted, upTo }, i) => {
      const { kind, trace } = all[i]!;
      return accepted ? [] : [`${kind}, seed ${trace.seed}:\n${upTo.slice(-15).join('\n')}`];
    });
    expect(refused.join('\n\n')).to.equal('');
  });

  it('has seen events of every kind', () => {
    const count = (of: readonly Trace[], kind: string): number =>
      of.flatMap(({ events }) => events).filter((event) => (event.event === 'send' ? event.kind : event.event) === kind)
        .length;
    for (const kind of ['acquire', 'release', 'renew', 'move', 'run', 'read', 'close', 'enter', 'leave', 'quit']) {
      expect(count(traces.plain, kind), kind).to.be.at.least(20);
    }
    expect(count(traces.failover, 'failover')).to.be.at.least(COUNTS.failover);
    // A release that leaves holds and sets a lease: an extension, mostly.
    const extensions = traces.leases.flatMap(({ events }) =>
      events.filter((event) => event.event === 'send' && event.kind === 'release' && event.count * event.lease > 0),
    );
    expect(extensions.length).to.be.at.least(COUNTS.leases);
    // Those who work before Redis knows are inside when their command is written.
    const early = traces.local.flatMap(({ events }) =>
      events.filter((event, i) => {
        const before = events[i - 1];
        return event.event === 'enter' && before?.event === 'send' && before.heir === event.owner;
      }),
    );
    expect(early.length).to.be.at.least(COUNTS.local);
  });

  it('those with localHandOver are none of a specification without it', async () => {
    const some = traces.local.slice(0, 12).map((trace) => ({ ...trace, local: false }));
    const findings = await checkTraces(some);
    expect(findings.filter(({ accepted }) => !accepted).length).to.be.at.least(6);
  });

  it('traces that cannot happen are refused, each at the event that is wrong', async () => {
    const good = [twoProcesses(), worksUntil(1_000), gaveUp(true), passesOn(), passesOn({ after: 120 }), forgets()];
    const bad: Readonly<Record<string, readonly [Trace, RegExp]>> = {
      'a second owner gets the lock': [twoProcesses({ answer: ['yes', 1] }), /at \|-> 25, event \|-> "run"/],
      'the server tells another ttl': [twoProcesses({ answer: ['no', 900] }), /at \|-> 25, event \|-> "run"/],
      'somebody works who was refused': [twoProcesses({ barges: true }), /at \|-> 31, event \|-> "enter"/],
      'somebody renews who has nothing': [twoProcesses({ renewedBy: 'p1' }), /at \|-> 300, event \|-> "send"/],
      'a release leaves a hold that is none': [twoProcesses({ left: 1 }), /at \|-> 1200, event \|-> "send"/],
      'an answer comes from nowhere': [twoProcesses({ unanswered: true }), /at \|-> 1210, event \|-> "read"/],
      'a late release finds what is gone': [twoProcesses({ late: 'yes' }), /at \|-> 1500, event \|-> "run"/],
      'somebody works on after the deadline': [worksUntil(1_001), /at \|-> 1001, event \|-> "leave"/],
      'nobody undoes what a call has left': [gaveUp(false), /at \|-> 20000, event \|-> "end"/],
      'a lock is passed on where it may not': [passesOn({ forbidden: true }), /at \|-> 20, event \|-> "enter"/],
      'it is passed on long after Redis confirmed it': [passesOn({ after: 150 }), /at \|-> 160, event \|-> "enter"/],
      'both work under it': [passesOn({ both: true }), /at \|-> 20, event \|-> "enter"/],
      'its release names another thread': [passesOn({ releases: 'p0:1' }), /at \|-> 45, event \|-> "run"/],
      'a successor has what nobody had': [forgets({ has: ['p1', 900] }), /at \|-> 100, event \|-> "failover"/],
      'a successor has it for longer': [forgets({ has: ['p0', 906] }), /at \|-> 100, event \|-> "failover"/],
      'a second owner, although it was not forgotten': [forgets({ has: ['p0', 905] }), /at \|-> 205, event \|-> "run"/],
      'somebody works on who knows of the loss': [forgets({ deaf: true }), /at \|-> 311, event \|-> "leave"/],
      'somebody renews what another one has': [forgets({ renews: true }), /at \|-> 305, event \|-> "run"/],
    };
    const findings = await checkTraces([...good, ...Object.values(bad).map(([trace]) => trace)]);
    for (const { accepted, upTo } of findings.slice(0, good.length)) expect(accepted, upTo.at(-1)).to.equal(true);
    Object.entries(bad).forEach(([what, [, where]], i) => {
      const { accepted, upTo } = findings[good.length + i]!;
      expect(accepted, what).to.equal(false);
      expect(upTo.at(-1), what).to.match(where);
    });
  });

  it('broken copies of lib leave traces that are refused', async () => {
    const broken: Trace[] = [];
    const names: string[] = [];
    for (const [name, [kind, count]] of Object.entries(NOTICED)) {
      const mutation = MUTATIONS.find((one) => one.name === name)!;
      const some = await tracesOf(kind, 1, count, mutation);
      broken.push(...some);
      names.push(...some.map(() => name));
    }
    const findings: readonly Finding[] = await checkTraces(broken);
    const refused = new Set(names.filter((_, i) => !findings[i]!.accepted));
    expect([...refused].sort()).to.deep.equal(Object.keys(NOTICED).sort());
  });
});
