import { expect } from 'chai';
import { levelOf, runbookOf } from '../../../lib/operators/inspection/advice';
import { judge, type Known } from '../../../lib/operators/inspection/judge';
import type { HolderReport, ObjectReport, Unjudged } from '../../../lib/operators/inspection/reports';
import type { History, Scan } from '../../../lib/operators/inspection/seen';
import type { ServerState } from '../../../lib/operators/inspection/servers';
import { Sightings } from '../../../lib/operators/inspection/sightings';

const NOW = 1_000_000;
const UNSEEN: History = { heldSince: undefined, waitedSince: undefined, renewedTo: undefined, renewedAt: undefined };
const HOLD = { since: NOW - 60_000, leaseMs: -1, renewals: 6, delayMs: 0, utilization: 0 };

function lock(holder: Partial<HolderReport> = {}, more: Partial<Unjudged> = {}): Unjudged {
  const process = { connected: true, java: false, host: 'web-1', pid: 7 } as const;
  const owner = { owner: 'c:1', clientId: 'c', threadId: '1', client: 'node', holdCount: 1, process } as const;
  const report = { name: 'a', key: 'a', kind: 'lock', ttlMs: 25_000, waiters: 0, channels: [] } as const;
  return { ...report, holders: [{ ...owner, ...holder }], ...more };
}

function waitingFor(ms: number): Partial<Unjudged> {
  const waiting = [{ clientId: 'w', host: 'web-2', pid: 8, callers: 1, since: NOW - ms }];
  return { waiters: 1, waiting };
}

function told(report: Unjudged, known: Partial<Known> = {}): ReturnType<typeof judge> {
  return judge(report, { now: NOW, ...known });
}

describe('a renewal that is seen counts', () => {
  const SILENT = { silent: true, silentSince: NOW - 40_000 } as const;
  const THREAD = { connected: true, java: false, host: 'web-1', pid: 7, watchdogIdleMs: 5_000 } as const;

  it('a silent holder that nothing renews, as far as can be seen: not-renewed', () => {
    expect(told(lock(SILENT)).kind).to.equal('not-renewed');
    expect(told(lock({ ...SILENT, hold: HOLD })).kind).to.equal('not-renewed');
    // A renewal before it fell silent says nothing.
    expect(told(lock(SILENT), { watched: { ...UNSEEN, renewedAt: NOW - 45_000 } }).kind).to.equal('not-renewed');
  });

  it('its watchdog thread: held, and says for how long its main loop has been silent', () => {
    const { kind, sentence } = told(lock({ ...SILENT, process: THREAD }));
    expect(kind).to.equal('held');
    expect(sentence).to.contain('renewed by its watchdog thread; its main loop has been silent for 40 s');
    // The thread has stopped as well, and a third of the lease has been over for long.
    const stopped = { ...THREAD, watchdogIdleMs: 20_000 };
    expect(told(lock({ ...SILENT, process: stopped }, { ttlMs: 10_000 })).kind).to.equal('not-renewed');
  });

  it('an expiry that has moved since, whoever did that', () => {
    const { kind, sentence } = told(lock(SILENT), { watched: { ...UNSEEN, renewedAt: NOW - 5_000 } });
    expect([kind, /renewed; its main loop has been silent for 40 s/.test(sentence)]).to.deep.equal(['held', true]);
  });

  it('a lease of its own, as it said before it fell silent: needs no renewal', () => {
    const { kind, sentence } = told(lock({ ...SILENT, hold: { ...HOLD, leaseMs: 600_000 } }));
    expect(kind).to.equal('held');
    expect(sentence).to.match(/silent for 40 s\. Its lease ends in 25 s/);
    expect(sentence).not.to.contain('renewed');
  });

  it('stuck applies to them: somebody has waited for 30 s behind one that is renewed', () => {
    const report = lock({ ...SILENT, process: THREAD, hold: HOLD }, waitingFor(31_000));
    const { kind, sentence } = told(report);
    expect(kind).to.equal('stuck');
    expect(sentence).to.match(
      /^Held for 1 m.* still renews it; its main loop has been silent for 40 s, while a caller/,
    );
    expect(told({ ...report, ...waitingFor(29_000) }).kind).to.equal('held');
    // One that was never heard, of Java or older: its expiry moves.
    const seen = { ...UNSEEN, heldSince: NOW - 31_000, renewedAt: NOW - 5_000 };
    expect(told(lock({}, waitingFor(31_000)), { watched: seen }).kind).to.equal('stuck');
    expect(told(lock({}, waitingFor(31_000)), { watched: { ...seen, renewedAt: undefined } }).kind).to.equal('held');
  });
});

describe('waits', () => {
  it('that are expected are no trouble, and are said', () => {
    const report = lock({ hold: HOLD }, waitingFor(31_000));
    expect(told(report).kind).to.equal('stuck');
    const { kind, sentence } = told(report, { isExpected: true });
    expect(kind).to.equal('held');
    expect(sentence).to.match(/A caller has waited for 31 s, as expected\.$/);
  });

  it('for permits or a latch: amber after 30 s, with a link to their own section', () => {
    for (const kind of ['semaphore', 'permitExpirableSemaphore', 'countDownLatch'] as const) {
      const report = lock({}, { kind, holders: [], value: kind === 'countDownLatch' ? 1 : 0, ...waitingFor(31_000) });
      const verdict = told(report);
      expect([kind, levelOf(verdict), verdict.kind]).to.deep.equal([kind, 'amber', 'held']);
      expect(levelOf(told({ ...report, ...waitingFor(29_000) }))).to.equal('well');
      expect(levelOf(told(report, { isExpected: true }))).to.equal('well');
      expect(runbookOf(report, 'held')).to.equal('#semaphore-or-latch');
      // That somebody is always there is no long wait: each may wait for a moment.
      const { waiting: _nobody, ...seen } = report;
      expect(levelOf(told(seen, { watched: { ...UNSEEN, waitedSince: NOW - 90_000 } }))).to.equal('well');
    }
    expect(runbookOf(lock(), 'stuck')).to.equal('#stuck');
  });
});

describe('what a restart or a failover has lost', () => {
  const MASTER: ServerState = {
    ...{ address: '', run: 'first', history: 'h1', offset: 100, continues: '', continuesTo: -1 },
    ...{ startedEmpty: false, refusal: undefined },
  };
  const EMPTY: ServerState = { ...MASTER, run: 'second', history: 'h2', offset: 0, startedEmpty: true };

  function report(name: string): ObjectReport {
    return { ...lock({ owner: `${name}:1` }, { name, key: name }), verdict: { kind: 'held', sentence: '' } };
  }
  function scan(state: ServerState, names: readonly string[], connection = 0): Scan {
    return {
      reports: names.map(report),
      addresses: new Map(),
      servers: { all: [state], refusal: undefined },
      connection,
    };
  }
  /** What is told after these scans, of which those that are torn are repeated. */
  function lostBy(...scans: readonly Scan[]): string {
    const seen = new Sightings();
    const told = scans.flatMap((one) => {
      const found = seen.saw(one, NOW) ?? seen.saw(one, NOW);
      return found?.lost ?? [];
    });
    return told.map(({ names, certain }) => `${names.join()}${certain ? '' : ', perhaps'}`).join('; ');
  }

  it('a server that comes back empty has lost all that was held', () => {
    expect(lostBy(scan(MASTER, ['a', 'b']), scan(EMPTY, []))).to.equal('a,b');
    expect(lostBy(scan(MASTER, ['a', 'b']), scan(EMPTY, ['a']))).to.equal('b');
  });

  it('a scan during which the server changes is compared with nothing', () => {
    const seen = new Sightings();
    seen.saw(scan(MASTER, ['a']), NOW);
    expect(seen.saw(scan(EMPTY, ['a']), NOW)).to.equal(undefined);
    expect(seen.saw(scan(EMPTY, []), NOW)?.lost).to.include({ locks: 1, certain: true });
    expect(seen.saw(scan(EMPTY, []), NOW)?.lost).to.equal(undefined);
  });

  it('the same server has lost nothing, however long the connection was away', () => {
    expect(lostBy(scan(MASTER, ['a']), scan(MASTER, ['a'], 0), scan(MASTER, [], 1))).to.equal('');
  });

  it('a replica that is promoted has lost what it did not have', () => {
    const heir: ServerState = { ...EMPTY, startedEmpty: false, continues: 'h1', continuesTo: 100 };
    expect(lostBy(scan(MASTER, ['a']), scan(heir, []))).to.equal('');
    const later = { ...MASTER, offset: 150 };
    expect(lostBy(scan(MASTER, ['a']), scan(later, ['a', 'b']), scan(heir, []))).to.equal('b, perhaps');
  });

  it('a server that has kept data: what comes and goes is released; what was there twice may be lost', () => {
    const kept: ServerState = { ...EMPTY, startedEmpty: false };
    expect(lostBy(scan(MASTER, ['a']), scan(kept, []))).to.equal('');
    expect(lostBy(scan(MASTER, ['a']), scan(MASTER, ['a']), scan(kept, []))).to.equal('a, perhaps');
  });

  it('servers that say nothing of themselves: only what is gone after a cut', () => {
    const mute = { ...MASTER, run: '' };
    expect(lostBy(scan(mute, ['a']), scan(mute, ['a']), scan(mute, []))).to.equal('');
    expect(lostBy(scan(mute, ['a']), scan(mute, ['a']), scan(mute, [], 1))).to.equal('a, perhaps');
  });
});
