import { expect } from 'chai';
import type { HolderReport } from '../../../lib/inspection/reports';
import type { Unjudged } from '../../../lib/inspection/verdict';
import { WhoWaits } from '../../../lib/inspection/whoWaits';
import type { ClientAnswer, ClientHold, ClientWait } from '../../../lib/introspection/wire';

const HELD = { kind: 'held', sentence: 'Held.' } as const;

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
  return new WhoWaits({ answers, silent: new Set(silent) });
}

/** The verdict on a lock that `clientId` holds, given what the clients say. */
function judged(all: WhoWaits, key: string, clientId: string): ReturnType<WhoWaits['verdictOf']> {
  const process = { connected: true, java: false, host: `host-${clientId}`, pid: 7 } as const;
  const owner = { owner: `${clientId}:1`, clientId, threadId: '1', client: 'node', process } as const;
  const holder: HolderReport = { ...owner, holdCount: 1 };
  const base = { name: key, key, kind: 'lock', ttlMs: 20_000, waiters: 1, channels: [] } as const;
  const report: Unjudged = { ...base, holders: [all.withAnswer(key, holder)], waiting: all.waitingFor(key) };
  return all.verdictOf(report, HELD);
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

  it('a holder that listens and does not answer is called silent', () => {
    const { kind, sentence } = judged(whoWaits([], ['p']), 'a', 'p');
    expect(kind).to.equal('held');
    expect(sentence).to.contain('has not answered within a second');
  });

  it('processes that wait, the longest first, with how many callers', () => {
    const all = whoWaits([client('p', [], [wait('p', 'a', [], 100)]), client('q', [], [wait('q', 'a', [], 200)])]);
    expect(all.waitingFor('a').map(({ clientId, callers }) => [clientId, callers])).to.deep.equal([
      ['q', 2],
      ['p', 2],
    ]);
  });
});
