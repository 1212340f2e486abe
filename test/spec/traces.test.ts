import { expect } from 'chai';
import { MUTATIONS } from '../simulation/mutations/list';
import { skip } from '../support';
import { whyNoTlc } from './support/tlc';
import { checkTraces, type Finding, type Trace, tracesOf, Written } from './support/traces';

/** Worlds of lib as it is. */
const WORLDS = 100;
/** Mutations of lib that show in the traces of the first worlds: of so many. */
const NOTICED: Readonly<Record<string, number>> = {
  'exclusion broken: whoever asks gets the lock': 4,
  'release without asking for the owner': 5,
  'the deadline counts from the reply': 20,
  'deadlines pass unnoticed for a while': 12,
  'what was released is renewed on': 4,
  'no undo': 40,
  'a wait that ends forgets the attempt under way': 40,
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

describe('traces of the simulation, checked by TLC', function () {
  // On a busy machine; each run takes half a minute of one core.
  this.timeout(600_000);
  this.slow(240_000);

  before(async function () {
    const reason = await whyNoTlc();
    if (reason !== undefined) skip(this, reason);
  });

  it(`${WORLDS} worlds with broken connections and late commands are behaviours of the specification`, async () => {
    const traces = await tracesOf(1, WORLDS);
    const findings = await checkTraces(traces);
    const refused = findings.flatMap(({ accepted, upTo }, i) =>
      accepted ? [] : [`seed ${traces[i]!.seed}:\n${upTo.slice(-15).join('\n')}`],
    );
    expect(refused.join('\n\n')).to.equal('');
    // Events of every kind are among them.
    const all = traces.flatMap(({ events }) => events);
    const kinds = all.map((event) => (event.event === 'send' ? event.kind : event.event));
    for (const kind of ['acquire', 'release', 'renew', 'move', 'run', 'read', 'close', 'enter', 'leave', 'quit']) {
      expect(kinds.filter((one) => one === kind).length, kind).to.be.at.least(20);
    }
  });

  it('traces that cannot happen are refused, each at the event that is wrong', async () => {
    const good = [twoProcesses(), worksUntil(1_000), gaveUp(true)];
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
    const traces: Trace[] = [];
    const names: string[] = [];
    for (const [name, count] of Object.entries(NOTICED)) {
      const mutation = MUTATIONS.find((one) => one.name === name)!;
      const some = await tracesOf(1, count, mutation);
      traces.push(...some);
      names.push(...some.map(() => name));
    }
    const findings: readonly Finding[] = await checkTraces(traces);
    const refused = new Set(names.filter((_, i) => !findings[i]!.accepted));
    expect([...refused].sort()).to.deep.equal(Object.keys(NOTICED).sort());
  });
});
