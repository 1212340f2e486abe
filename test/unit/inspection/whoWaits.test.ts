import { expect } from 'chai';
import { judge } from '../../../lib/operators/inspection/judge';
import type { HolderReport, Unjudged, Verdict } from '../../../lib/operators/inspection/reports';
import type { History } from '../../../lib/operators/inspection/seen';
import { waitersOf, WhoWaits } from '../../../lib/operators/inspection/whoWaits';
import type { ClientAnswer, ClientHold, ClientWait } from '../../../lib/introspection/wire';

/** Who is silent has been so for so long, in ms. */
const SILENT_MS = 12_000;

function client(clientId: string, holds: readonly ClientHold[], waits: readonly ClientWait[] = []): ClientAnswer {
  return {
    clientId,
    host: `host-${clientId}`,
    pid: 7,
    uptimeMs: 1,
    versions: { node: '20', ioredisson: '1' },
    eventLoop: { delayMs: 0, utilization: 0.5 },
    holds,
    waits,
    total: { holds: holds.length, waits: waits.length },
  };
}

function hold(clientId: string, key: string, more: Partial<ClientHold> = {}): ClientHold {
  const lock = { name: key, key, owner: `${clientId}:1`, kind: 'lock', threadId: 1, count: 1 } as const;
  return { ...lock, heldMs: 40_000, leaseMs: -1, renewals: 3, ...more };
}

function wait(clientId: string, key: string, held: readonly string[], waitedMs = 40_000): ClientWait {
  const holding = held.map((one) => ({ name: one, key: one, owner: `${clientId}:1` }));
  return { name: key, key, kind: 'lock', callers: 2, waitedMs, holding };
}

function whoWaits(answers: readonly ClientAnswer[], silent: readonly string[] = []): WhoWaits {
  const listening = new Set([...answers.map(({ clientId }) => clientId), ...silent]);
  const since = Date.now() - SILENT_MS;
  return new WhoWaits({ answers, listening, silent: new Map(silent.map((one) => [one, since])) });
}

function base(key: string): Omit<Unjudged, 'holders'> {
  return { name: key, key, kind: 'lock', ttlMs: 20_000, waiters: 1, channels: [] };
}

const UNSEEN: History = { heldSince: undefined, waitedSince: undefined, renewedTo: undefined, renewedAt: undefined };

/** The verdict on a lock that `clientId` holds, given what the clients say, and what earlier looks have told. */
function judged(all: WhoWaits, key: string, clientId: string, watched?: History): Verdict {
  const process = { connected: true, java: false, host: `host-${clientId}`, pid: 7 } as const;
  const owner = { owner: `${clientId}:1`, clientId, threadId: '1', client: 'node', process } as const;
  const holder: HolderReport = { ...owner, holdCount: 1 };
  const report: Unjudged = { ...base(key), holders: [holder] };
  return judge({ ...report, ...all.about(report) }, { now: Date.now(), whoWaits: all, watched });
}

function holderOf({ clientId, host }: ClientAnswer): HolderReport {
  const process = { connected: true, java: false, host, pid: 7 } as const;
  return { owner: `${clientId}:1`, clientId, threadId: '1', client: 'node', holdCount: 1, process };
}

const P_HAS_A_WAITS_FOR_B = client('p', [hold('p', 'a')], [wait('p', 'b', ['a'])]);
const Q_HAS_B_WAITS_FOR_A = client('q', [hold('q', 'b')], [wait('q', 'a', ['b'])]);

describe('WhoWaits: verdicts of what the clients answer', () => {
  it('a circle over two processes is a dead-lock, whichever of its locks is looked at', () => {
    const all = whoWaits([P_HAS_A_WAITS_FOR_B, Q_HAS_B_WAITS_FOR_A]);
    const holders = { a: 'p', b: 'q' } as const;
    for (const key of ['a', 'b'] as const) {
      const { kind, circle } = judged(all, key, holders[key]);
      expect(kind).to.equal('dead-lock');
      const links = circle!.map(({ name, waitsFor, host }) => `${host}: ${name} -> ${waitsFor}`);
      expect(new Set(links)).to.deep.equal(new Set(['host-p: a -> b', 'host-q: b -> a']));
    }
  });

  it('whose holder waits for a lock of a dead-lock learns that', () => {
    const outside = client('r', [hold('r', 'c')], [wait('r', 'a', ['c'])]);
    const { kind, sentence } = judged(whoWaits([P_HAS_A_WAITS_FOR_B, Q_HAS_B_WAITS_FOR_A, outside]), 'c', 'r');
    expect(kind).to.equal('dead-lock');
    expect(sentence).to.contain('waits for a lock that is in a dead-lock');
  });

  it('a thread that waits for what it has itself (a reader for the write lock) is a dead-lock of one', () => {
    const all = whoWaits([client('p', [hold('p', 'a')], [wait('p', 'a', ['a'])])]);
    expect(judged(all, 'a', 'p').circle).to.have.length(1);
  });

  it('a chain without a circle is none', () => {
    const all = whoWaits([P_HAS_A_WAITS_FOR_B, client('q', [hold('q', 'b')])]);
    expect(judged(all, 'a', 'p').kind).not.to.equal('dead-lock');
  });

  it('nor are waits that have only begun: clients answer one after the other', () => {
    const fresh = client('p', [hold('p', 'a')], [wait('p', 'b', ['a'], 900)]);
    expect(judged(whoWaits([fresh, Q_HAS_B_WAITS_FOR_A]), 'a', 'p').kind).not.to.equal('dead-lock');
  });

  it('stuck: held, renewed and waited for, each for 30 s; the sentence says where to look', () => {
    const holder = client('p', [hold('p', 'a', { callSite: 'job.js:12:3' })]);
    const { kind, sentence } = judged(whoWaits([holder, client('q', [], [wait('q', 'a', [])])]), 'a', 'p');
    expect(kind).to.equal('stuck');
    expect(sentence).to.contain('renewed it 3 times').and.contain('process 7 on host-p, at job.js:12:3');
  });

  it('stuck behind several holders: all their processes are named, up to three', () => {
    const clients = ['p', 'q', 'r', 's'].map((id) => client(id, [hold(id, 'a')]));
    const all = whoWaits([...clients, client('w', [], [wait('w', 'a', [])])]);
    const holders = clients.map(holderOf);
    const report: Unjudged = { ...base('a'), kind: 'readWrite', mode: 'read', holders };
    const { kind, sentence } = judge({ ...report, ...all.about(report) }, { now: Date.now(), whoWaits: all });
    expect(kind).to.equal('stuck');
    expect(sentence).to.contain('check process 7 on host-p, process 7 on host-q, process 7 on host-r and 1 more.');
  });

  it('values of a group that are not told close no circle: a client of an older version', () => {
    const inGroup = (id: string, wants?: readonly string[], values?: readonly string[]): ClientAnswer => {
      const said = { name: 'g', key: 'g', owner: `${id}:1`, ...(values && { values }), ...(wants && { wants }) };
      return client(id, [hold(id, 'g', { kind: 'group' })], [{ ...wait(id, 'g', []), kind: 'group', holding: [said] }]);
    };
    const kindOf = (...clients: readonly ClientAnswer[]): string => {
      const report: Unjudged = { ...base('g'), kind: 'group', holders: clients.map(holderOf) };
      return judge(report, { now: Date.now(), whoWaits: whoWaits(clients) }).kind;
    };
    expect(kindOf(inGroup('p', ['b'], ['a']), inGroup('q', ['a'], ['b']))).to.equal('dead-lock');
    expect(kindOf(inGroup('p', ['b'], ['a']), inGroup('q', ['c'], ['b']))).to.equal('held');
    expect(kindOf(inGroup('p'), inGroup('q'))).to.equal('held');
  });

  for (const [what, heldMs, waitedMs, leaseMs] of [
    ['a lock that changes hands', 3_000, 40_000, -1],
    ['a wait that is young', 40_000, 3_000, -1],
    ['a hold that its lease ends', 40_000, 40_000, 60_000],
  ] as const) {
    it(`${what} is not stuck`, () => {
      const holder = client('p', [hold('p', 'a', { heldMs, leaseMs })]);
      const waiter = client('q', [], [wait('q', 'a', [], waitedMs)]);
      expect(judged(whoWaits([holder, waiter]), 'a', 'p').kind).to.equal('held');
    });
  }

  it('a holder that listens and does not answer is in trouble: nobody renews it', () => {
    const { kind, sentence } = judged(whoWaits([], ['p']), 'a', 'p');
    expect(kind).to.equal('not-renewed');
    expect(sentence).to.contain('has not answered for 12 s: it is frozen, or its event loop is busy');
  });

  it('one that was asked for the first time has been silent for who knows how long: only the question is timed', () => {
    const now = Date.now();
    const all = new WhoWaits({ answers: [], listening: new Set(['p']), silent: new Map([['p', now - 2_050]]) });
    expect(judged(all, 'a', 'p').sentence).to.contain('has not answered within 2 s: it is frozen');
  });

  it('a live holder that was seen for long, is not renewed, and never began to listen may be blocked', () => {
    const others = whoWaits([client('q', [], [wait('q', 'a', [])])]);
    const seen = (ms: number, renewedTo?: number): History => ({ ...UNSEEN, heldSince: Date.now() - ms, renewedTo });
    const { kind, sentence } = judged(others, 'a', 'p', seen(15_001));
    expect(kind).to.equal('held');
    expect(sentence).to.contain('event loop has been blocked since it took the lock');
    // Not one that is young, nobody has watched, is renewed, or can be asked.
    for (const watched of [seen(14_000), undefined, seen(20_000, 30_000)]) {
      expect(judged(others, 'a', 'p', watched).sentence).not.to.contain('blocked');
    }
    const leased = whoWaits([client('p', [hold('p', 'a', { leaseMs: 60_000 })])]);
    expect(judged(leased, 'a', 'p', seen(20_000)).sentence).not.to.contain('blocked');
  });

  it('processes that wait, the longest first, with how many callers', () => {
    const all = whoWaits([client('p', [], [wait('p', 'a', [], 100)]), client('q', [], [wait('q', 'a', [], 200)])]);
    const { waiting } = all.about({ ...base('a'), holders: [] });
    expect(waiting!.map(({ clientId, callers }) => [clientId, callers])).to.deep.equal([
      ['q', 2],
      ['p', 2],
    ]);
    expect(waitersOf({ waiters: 2, waiting: waiting! })).to.equal(4);
    expect([waitersOf({ waiters: 3 }), waitersOf({ waiters: 0, waiting: waiting! })]).to.deep.equal([3, 0]);
  });

  it('who has permits, as the clients say, and what these wait for meanwhile', () => {
    const permit = { ...hold('q', 's'), kind: 'permit', owner: 'an id', count: 1 } as const;
    const waits = { ...wait('q', 'a', []), holding: [{ name: 's', key: 's', owner: 'an id' }] };
    const all = whoWaits([client('q', [permit], [waits])]);
    const { holders } = all.about({ ...base('s'), kind: 'permitExpirableSemaphore', holders: [] });
    const [{ owner, clientId, process, waitsFor }] = holders as [HolderReport];
    expect({ owner, clientId, process }).to.deep.equal({
      ...{ owner: 'an id', clientId: 'q' },
      process: { connected: true, java: false, host: 'host-q', pid: 7 },
    });
    expect(waitsFor?.name).to.equal('a');
  });

  it('a circle through a permit is one only after a while: others may give theirs back', () => {
    const circleOf = (waitedMs: number): WhoWaits => {
      const p = client('p', [hold('p', 'a')], [{ ...wait('p', 's', ['a'], waitedMs), kind: 'permit' }]);
      return whoWaits([p, client('q', [hold('q', 's')], [wait('q', 'a', ['s'], waitedMs)])]);
    };
    expect(judged(circleOf(20_000), 'a', 'p').kind).to.equal('held');
    const { kind, sentence } = judged(circleOf(31_000), 'a', 'p');
    expect(kind).to.equal('dead-lock');
    expect(sentence).to.contain('or somebody else gives a permit back');
  });
});
