import { expect } from 'chai';
import { check } from '../../histories/check/check';
import type { Completion, Event, Invocation } from '../../histories/history';

/** A history made by hand: times in ms, and the calls of each process numbered by hand. */
class Story {
  readonly events: Event[] = [];

  invoke(at: number, p: number, op: number, more: Partial<Invocation> & Pick<Invocation, 'call'>): this {
    this.events.push({ type: 'invoke', at: at * 1_000, p, op, kind: 'lock', name: 'x', ...more });
    return this;
  }

  end(at: number, p: number, op: number, type: Completion['type'], more: Partial<Completion> = {}): this {
    const until = more.until === undefined ? {} : { until: more.until * 1_000 };
    this.events.push({ type, at: at * 1_000, p, op, ...more, ...until });
    return this;
  }

  /** A lock for 1000 ms, asked for 1 ms earlier. */
  take(at: number, p: number, op: number, more: Partial<Invocation> = {}, result: Partial<Completion> = {}): this {
    const { lease = 1_000 } = more;
    this.invoke(at - 1, p, op, { call: 'take', lease, ...more });
    return this.end(at, p, op, 'ok', { until: at - 1 + lease, ...result });
  }

  /** Within 1 ms, by a call of its own. */
  release(at: number, p: number, of: number, type: Completion['type'] = 'ok', result: Partial<Completion> = {}): this {
    const op = 1_000_000 + this.events.length;
    return this.invoke(at, p, op, { call: 'release', of }).end(at + 1, p, op, type, result);
  }

  held(at: number, p: number, op: number, until: number): this {
    this.events.push({ type: 'held', at: at * 1_000, p, op, until: until * 1_000 });
    return this;
  }

  lost(at: number, p: number, op: number): this {
    this.events.push({ type: 'lost', at: at * 1_000, p, op });
    return this;
  }

  killed(at: number, p: number): this {
    this.events.push({ type: 'killed', at: at * 1_000, p });
    return this;
  }

  /** Permits of a semaphore that has three. */
  permits(at: number, p: number, op: number, permits: number, more: Partial<Invocation> = {}): this {
    const details = { call: 'take', permits, total: 3, ...more } as const;
    const until = more.lease === undefined ? {} : { until: at - 1 + more.lease };
    const ids = Array.from({ length: permits }, (_, i) => `${p}.${op}.${i}`);
    return this.invoke(at - 1, p, op, details).end(at, p, op, 'ok', { ids, ...until });
  }

  /** How many holds the thread has that took by call `within`. */
  count(at: number, p: number, within: number, value: number): this {
    const op = 1_000_000 + this.events.length;
    return this.invoke(at, p, op, { call: 'count', within }).end(at + 1, p, op, 'ok', { value });
  }

  /** How many of three permits are left. */
  available(at: number, value: number): this {
    const op = 1_000_000 + this.events.length;
    return this.invoke(at, 9, op, { call: 'available', total: 3 }).end(at + 1, 9, op, 'ok', { value });
  }

  /** Three permits there shall be. */
  set(at: number, type: Completion['type'] = 'ok'): this {
    const op = 1_000_000 + this.events.length;
    return this.invoke(at, 9, op, { call: 'set', total: 3 }).end(at + 1, 9, op, type);
  }

  /** What the checker finds. */
  get rules(): string[] {
    return check(this.events).findings.map(({ rule }) => rule);
  }
}

const story = (): Story => new Story();

/** Each history with the rule that it breaks. */
const WRONG: readonly [title: string, rule: string, story: Story][] = [
  ['two inside', 'two inside', story().take(10, 1, 1).take(20, 2, 1).release(30, 1, 1).release(40, 2, 1)],
  [
    'two inside of one process',
    'two inside',
    story().take(10, 1, 1).take(20, 1, 2).release(30, 1, 1).release(40, 1, 2),
  ],
  [
    'somebody comes in before the lease of a dead client is over',
    'two inside',
    story().take(10, 1, 1).killed(20, 1).take(900, 2, 1).release(910, 2, 1),
  ],
  [
    'somebody comes in before the renewed lease of a dead client is over',
    'two inside',
    story()
      .take(10, 1, 1, { renewed: true })
      .held(700, 1, 1, 1_600)
      .killed(701, 1)
      .take(1_500, 2, 1)
      .release(1_510, 2, 1),
  ],
  [
    'a client that was stopped still believes in its hold',
    'two inside',
    story()
      .take(10, 1, 1, { renewed: true })
      .take(1_500, 2, 1)
      .held(1_600, 1, 1, 1_700)
      .release(1_610, 1, 1)
      .release(1_620, 2, 1),
  ],
  [
    'two branches of one thread',
    'two inside',
    story()
      .take(10, 1, 1)
      .take(20, 1, 2, { within: 1 })
      .take(21, 1, 3, { within: 1 })
      .release(30, 1, 2)
      .release(40, 1, 3)
      .release(50, 1, 1),
  ],
  [
    'a re-entry with a long lease keeps the lock when its thread has given back the short one',
    'two inside',
    story()
      .take(10, 1, 1, { lease: 100 })
      .take(20, 1, 2, { within: 1 })
      .release(40, 1, 1)
      .take(900, 2, 1)
      .release(910, 2, 1)
      .release(920, 1, 2),
  ],
  [
    'a reader beside a writer',
    'a writer beside readers',
    story().take(10, 1, 1).take(20, 2, 1, { shared: true }).release(30, 2, 1).release(40, 1, 1),
  ],
  [
    'a writer beside the second of two readers',
    'a writer beside readers',
    story()
      .take(10, 1, 1, { shared: true })
      .take(11, 2, 1, { shared: true })
      .release(12, 1, 1)
      .take(20, 3, 1)
      .release(30, 2, 1)
      .release(40, 3, 1),
  ],
  [
    'a token repeats',
    'a token repeats',
    story().take(10, 1, 1, {}, { token: '7' }).release(20, 1, 1).take(30, 2, 1, {}, { token: '7' }).release(40, 2, 1),
  ],
  [
    'a token goes back',
    'a token goes back',
    story().take(10, 1, 1, {}, { token: '10' }).release(20, 1, 1).take(30, 2, 1, {}, { token: '9' }).release(40, 2, 1),
  ],
  [
    'a token goes back for somebody who began to wait before',
    'a token goes back',
    story()
      .invoke(1, 2, 1, { call: 'take', lease: 1_000 })
      .take(10, 1, 1, {}, { token: '10' })
      .release(20, 1, 1)
      .end(30, 2, 1, 'ok', { token: '9', until: 900 })
      .release(40, 2, 1),
  ],
  [
    'a hold past its lease',
    'held past its lease',
    story().take(10, 1, 1, { lease: 100 }).held(200, 1, 1, 201).release(210, 1, 1, 'fail', { why: 'lost' }),
  ],
  [
    'a hold that is believed in for longer than its lease',
    'held past its lease',
    story().take(10, 1, 1, { lease: 100 }, { until: 130 }).release(20, 1, 1),
  ],
  [
    'a renewed hold that is believed in for longer than a renewal lasts',
    'held past its lease',
    story().take(10, 1, 1, { lease: 100, renewed: true }).held(90, 1, 1, 300).release(95, 1, 1),
  ],
  [
    'a hold that comes back',
    'held again',
    story()
      .take(10, 1, 1, { renewed: true })
      .lost(1_010, 1, 1)
      .held(1_015, 1, 1, 1_018)
      .release(1_020, 1, 1, 'fail', { why: 'lost' }),
  ],
  [
    'a loss before its time',
    'lost without a cause',
    story().take(10, 1, 1).lost(500, 1, 1).release(510, 1, 1, 'fail', { why: 'lost' }),
  ],
  [
    'an unlock by somebody who has nothing',
    'released by a non-owner',
    story().take(10, 1, 1).invoke(20, 2, 1, { call: 'release' }).end(21, 2, 1, 'ok').release(30, 1, 1),
  ],
  [
    'an unlock of a free lock',
    'released by a non-owner',
    story().invoke(20, 2, 1, { call: 'release' }).end(21, 2, 1, 'ok'),
  ],
  [
    'an unlock for the second time',
    'released by a non-owner',
    story().take(10, 1, 1).release(20, 1, 1).release(30, 1, 1),
  ],
  [
    'an unlock after its lease, of what another one has by then',
    'released what another one holds',
    story().take(10, 1, 1, { lease: 100 }).lost(150, 1, 1).take(160, 2, 1).release(170, 1, 1).release(200, 2, 1),
  ],
  [
    'somebody inside and out again during a hold that was given back later, past what its client knew',
    'two inside',
    story().take(10, 1, 1, { renewed: true }).take(1_500, 2, 1).release(1_510, 2, 1).release(2_000, 1, 1),
  ],
  ['two inside by one ms', 'two inside', story().take(10, 1, 1).killed(20, 1).take(1_008, 2, 1).release(1_009, 2, 1)],
  [
    'a writer that follows a writer who goes on reading',
    'a writer beside readers',
    story()
      .take(10, 1, 1)
      .take(11, 1, 2, { shared: true, within: 1 })
      .release(12, 1, 1)
      .take(20, 2, 1)
      .release(21, 2, 1)
      .release(30, 1, 2),
  ],
  [
    'a reader that becomes a writer',
    'a reader that writes',
    story().take(10, 1, 1, { shared: true }).take(20, 1, 2, { within: 1 }).release(30, 1, 2).release(40, 1, 1),
  ],
  [
    'an unlock of what was not got',
    'released by a non-owner',
    story().invoke(1, 1, 1, { call: 'take', lease: 1_000 }).end(2, 1, 1, 'fail').release(30, 1, 1),
  ],
  [
    'an unlock long after the lease, of a free lock',
    'released by a non-owner',
    story().take(10, 1, 1, { lease: 100 }).release(300, 1, 1),
  ],
  [
    'an unlock after a known loss, of a free lock',
    'released by a non-owner',
    story().take(10, 1, 1, { renewed: true }).lost(1_010, 1, 1).release(5_000, 1, 1),
  ],
  [
    'an unlock that was done twice, after one that may have been done',
    'released by a non-owner',
    story().take(10, 1, 1).release(20, 1, 1, 'info').release(30, 1, 1).release(40, 1, 1),
  ],
  [
    'an unlock that was done after it was refused',
    'released by a non-owner',
    story().take(10, 1, 1, { lease: 100 }).release(115, 1, 1, 'fail', { why: 'notOwner' }).release(116, 1, 1),
  ],
  [
    'a hold that is counted past its lease',
    'wrong hold count',
    story().take(10, 1, 1, { lease: 100 }).count(300, 1, 1, 1),
  ],
  [
    'an owner that may not unlock',
    'the owner was refused',
    story().take(10, 1, 1).release(20, 1, 1, 'fail', { why: 'notOwner' }),
  ],
  [
    'a re-entry that is not counted',
    'wrong hold count',
    story()
      .take(10, 1, 1)
      .take(20, 1, 2, { within: 1 })
      .invoke(30, 1, 3, { call: 'count', within: 2 })
      .end(31, 1, 3, 'ok', { value: 1 })
      .release(40, 1, 2)
      .release(50, 1, 1),
  ],
  [
    'a re-entry that is counted twice',
    'wrong hold count',
    story()
      .take(10, 1, 1)
      .invoke(30, 1, 3, { call: 'count', within: 1 })
      .end(31, 1, 3, 'ok', { value: 2 })
      .release(50, 1, 1),
  ],
  [
    'a hold that stays when it was given back',
    'wrong hold count',
    story()
      .take(10, 1, 1)
      .release(20, 1, 1)
      .invoke(30, 1, 3, { call: 'count', within: 1 })
      .end(31, 1, 3, 'ok', { value: 1, some: true }),
  ],
  [
    'more permits than there are',
    'more permits than there are',
    story().permits(10, 1, 1, 2).permits(20, 2, 1, 2).release(30, 1, 1).release(40, 2, 1),
  ],
  [
    'permits of a dead client that come back',
    'more permits than there are',
    story().permits(10, 1, 1, 2).killed(20, 1).permits(90_000, 2, 1, 2),
  ],
  [
    'permits with ids of a dead client that come back before their lease is over',
    'more permits than there are',
    story().permits(10, 1, 1, 2, { lease: 1_000 }).killed(20, 1).permits(900, 2, 1, 2, { lease: 1_000 }),
  ],
  [
    'more permits left than there can be',
    'more permits than there are',
    story()
      .permits(10, 1, 1, 2)
      .invoke(20, 2, 1, { call: 'available', total: 3 })
      .end(21, 2, 1, 'ok', { value: 2 })
      .release(30, 1, 1),
  ],
  [
    'less than no permits',
    'more permits than there are',
    story().invoke(20, 2, 1, { call: 'available', total: 3 }).end(21, 2, 1, 'ok', { value: -1 }),
  ],
  [
    'the same permit twice',
    'a permit twice',
    story()
      .invoke(1, 1, 1, { call: 'take', permits: 1, total: 3, lease: 1_000 })
      .end(2, 1, 1, 'ok', { ids: ['a'], until: 1_000 })
      .invoke(3, 2, 1, { call: 'take', permits: 1, total: 3, lease: 1_000 })
      .end(4, 2, 1, 'ok', { ids: ['a'], until: 1_000 }),
  ],
  [
    'one id for two permits',
    'a permit from nowhere',
    story()
      .invoke(1, 1, 1, { call: 'take', permits: 2, total: 3, lease: 1_000 })
      .end(2, 1, 1, 'ok', { ids: ['a'], until: 1_000 }),
  ],
  ['a permit before there are any', 'a permit from nowhere', story().permits(10, 1, 1, 1).release(20, 1, 1).set(30)],
  [
    'permits that are gone although all were given back',
    'permits are gone',
    story().set(1).permits(10, 1, 1, 2).release(20, 1, 1).available(30, 1),
  ],
  ['permits that are gone although nobody took any', 'permits are gone', story().set(1).available(30, 2)],
  [
    'permits that are set twice',
    'set twice',
    story()
      .invoke(1, 1, 1, { call: 'set', total: 3 })
      .end(2, 1, 1, 'ok')
      .invoke(1, 2, 1, { call: 'set', total: 3 })
      .end(2, 2, 1, 'ok'),
  ],
  [
    'a latch that opens early',
    'a latch opens early',
    story()
      .invoke(1, 1, 1, { call: 'set', total: 2 })
      .end(2, 1, 1, 'ok')
      .invoke(3, 1, 2, { call: 'down', total: 2 })
      .end(4, 1, 2, 'ok')
      .invoke(3, 2, 1, { call: 'await', total: 2 })
      .end(4, 2, 1, 'ok')
      .invoke(5, 1, 3, { call: 'down', total: 2 })
      .end(6, 1, 3, 'ok'),
  ],
  [
    'a latch that is set again while it is closed',
    'set twice',
    story()
      .invoke(1, 1, 1, { call: 'set', total: 2 })
      .end(2, 1, 1, 'ok')
      .invoke(3, 1, 2, { call: 'down', total: 2 })
      .end(4, 1, 2, 'ok')
      .invoke(5, 2, 1, { call: 'set', total: 2 })
      .end(6, 2, 1, 'ok'),
  ],
  ['a call that never ends', 'a call that never ends', story().invoke(1, 1, 1, { call: 'take', lease: 1_000 })],
  [
    'an error that no fault explains',
    'an error without a cause',
    story().invoke(1, 1, 1, { call: 'take' }).end(2, 1, 1, 'info', { why: 'TypeError', unexpected: true }),
  ],
];

/** Histories in which nothing is wrong, although it may look so. */
const RIGHT: readonly [title: string, story: Story][] = [
  ['one after the other', story().take(10, 1, 1).release(20, 1, 1).take(30, 2, 1).release(40, 2, 1)],
  [
    'the next one is in before the answer to the unlock is here',
    story()
      .take(10, 1, 1)
      .invoke(20, 1, 2, { call: 'release', of: 1 })
      .take(21, 2, 1)
      .end(25, 1, 2, 'ok')
      .release(30, 2, 1),
  ],
  ['after the lease of a dead client', story().take(10, 1, 1).killed(20, 1).take(1_010, 2, 1).release(1_020, 2, 1)],
  [
    'a dead client that had begun to unlock',
    story().take(10, 1, 1).invoke(20, 1, 2, { call: 'release', of: 1 }).killed(20, 1).take(30, 2, 1).release(40, 2, 1),
  ],
  [
    'an acquisition with an unknown outcome holds nothing',
    story()
      .invoke(1, 1, 1, { call: 'take', lease: 1_000 })
      .end(5, 1, 1, 'info', { why: 'CONNECTION' })
      .take(10, 2, 1)
      .release(20, 2, 1),
  ],
  [
    'a loss at its deadline, and an unlock that says so',
    story()
      .take(10, 1, 1, { lease: 100 })
      .lost(150, 1, 1)
      .take(151, 2, 1)
      .release(155, 1, 1, 'fail', { why: 'lost' })
      .release(160, 2, 1),
  ],
  [
    'an answer that comes after the lease',
    story()
      .invoke(1, 1, 1, { call: 'take', lease: 100 })
      .take(110, 2, 1)
      .end(120, 1, 1, 'ok')
      .release(121, 1, 1, 'fail', { why: 'lost' })
      .release(130, 2, 1),
  ],
  [
    'a re-entry, counted, and a stranger that is refused',
    story()
      .take(10, 1, 1)
      .take(20, 1, 2, { within: 1 })
      .invoke(30, 1, 3, { call: 'count', within: 2 })
      .end(31, 1, 3, 'ok', { value: 2 })
      .invoke(32, 2, 1, { call: 'release' })
      .end(33, 2, 1, 'fail', { why: 'notOwner' })
      .release(40, 1, 2)
      .release(50, 1, 1),
  ],
  [
    'a re-entry whose outcome is unknown may count or not',
    story()
      .take(10, 1, 1)
      .invoke(20, 1, 2, { call: 'take', lease: 1_000, within: 1 })
      .end(21, 1, 2, 'info', { why: 'COMMAND_TIMEOUT' })
      .invoke(30, 1, 3, { call: 'count', within: 1 })
      .end(31, 1, 3, 'ok', { value: 2 })
      .invoke(32, 1, 4, { call: 'count', within: 1 })
      .end(33, 1, 4, 'ok', { value: 1 })
      .release(50, 1, 1),
  ],
  [
    'readers together, and a writer that goes on reading',
    story()
      .take(10, 1, 1, { shared: true })
      .take(11, 2, 1, { shared: true })
      .release(12, 1, 1)
      .release(13, 2, 1)
      .take(20, 3, 1)
      .take(21, 3, 2, { shared: true, within: 1 })
      .release(22, 3, 1)
      .take(30, 1, 2, { shared: true })
      .release(31, 3, 2)
      .release(32, 1, 2),
  ],
  [
    'tokens of those who wait at the same time, in the order in which they got in',
    story()
      .invoke(1, 1, 1, { call: 'take', lease: 1_000 })
      .invoke(1, 2, 1, { call: 'take', lease: 1_000 })
      .end(5, 2, 1, 'ok', { token: '1', until: 900 })
      .release(6, 2, 1)
      .end(9, 1, 1, 'ok', { token: '2', until: 900 })
      .release(10, 1, 1),
  ],
  [
    'all permits, and again when they are back',
    story()
      .permits(10, 1, 1, 2)
      .permits(11, 2, 1, 1)
      .release(20, 1, 1)
      .permits(30, 3, 1, 2)
      .invoke(31, 4, 1, { call: 'available', total: 3 })
      .end(32, 4, 1, 'ok', { value: 0 })
      .release(40, 2, 1)
      .release(41, 3, 1),
  ],
  [
    'permits with ids after the lease of a dead client',
    story()
      .permits(10, 1, 1, 3, { lease: 1_000 })
      .killed(20, 1)
      .permits(1_100, 2, 1, 3, { lease: 1_000 })
      .release(1_110, 2, 1),
  ],
  [
    'a re-entry past its own lease, while its thread still has the lock',
    story()
      .take(10, 1, 1)
      .take(20, 1, 2, { within: 1, lease: 100 })
      .held(200, 1, 2, 200)
      .release(210, 1, 2)
      .release(220, 1, 1),
  ],
  [
    'a re-entry with a short lease, after its thread has given back the long one',
    story()
      .take(10, 1, 1)
      .take(20, 1, 2, { within: 1, lease: 200, renewed: true }, { until: 1_000 })
      .held(30, 1, 2, 1_000)
      .release(40, 1, 1)
      .take(300, 2, 1)
      .lost(310, 1, 2)
      .release(311, 1, 2, 'fail', { why: 'lost' })
      .release(320, 2, 1),
  ],
  [
    'a call within a section that has lost its lock is a thread of its own',
    story()
      .take(10, 1, 1, { shared: true, lease: 100 })
      .take(200, 1, 2, { shared: true, within: 1 })
      .take(201, 1, 3, { shared: true, within: 1 })
      .invoke(210, 1, 4, { call: 'count', within: 2 })
      .end(211, 1, 4, 'ok', { value: 1 })
      .release(220, 1, 2)
      .release(221, 1, 3)
      .lost(230, 1, 1)
      .release(231, 1, 1, 'fail', { why: 'lost' }),
  ],
  [
    'a latch that nobody has set, and one that is open and set again',
    story()
      .invoke(1, 1, 1, { call: 'await', total: 1 })
      .end(2, 1, 1, 'ok')
      .invoke(1, 1, 2, { call: 'set', total: 1 })
      .end(2, 1, 2, 'ok')
      .invoke(3, 1, 3, { call: 'down', total: 1 })
      .end(4, 1, 3, 'ok')
      .invoke(3, 2, 1, { call: 'await', total: 1 })
      .end(4, 2, 1, 'ok')
      .invoke(5, 2, 2, { call: 'set', total: 1 })
      .end(6, 2, 2, 'ok'),
  ],
  [
    'a lease that ends while its count is asked for',
    story().take(10, 1, 1, { lease: 100 }).count(109, 1, 1, 1).count(109, 1, 1, 0),
  ],
  [
    'an unlock that may have been done, and one that finds nothing, or is done',
    story()
      .take(10, 1, 1)
      .release(20, 1, 1, 'info')
      .release(30, 1, 1, 'fail', { why: 'notOwner' })
      .take(40, 2, 1)
      .release(50, 2, 1, 'info')
      .release(60, 2, 1),
  ],
  [
    'a re-entry that keeps the lock past the lease of the first hold, which is given back after it',
    story().take(10, 1, 1, { lease: 100 }).take(20, 1, 2, { within: 1 }).release(300, 1, 2).release(310, 1, 1),
  ],
  [
    'a hold whose thread has given back another one, which began a new lease',
    story().take(10, 1, 1).take(20, 1, 2, { within: 1 }).release(900, 1, 2).count(1_700, 1, 1, 1).release(1_710, 1, 1),
  ],
  [
    'a reader whom Redis keeps past its lease, since another one reads',
    story()
      .take(10, 1, 1, { shared: true })
      .take(20, 2, 1, { shared: true, lease: 100 })
      .count(300, 2, 1, 1)
      .release(310, 2, 1)
      .release(320, 1, 1),
  ],
  [
    'a thread that gets in again after a loss gives back both, and somebody was inside meanwhile',
    story()
      .take(10, 1, 1, { lease: 100 })
      .take(200, 2, 1)
      .release(210, 2, 1)
      .take(300, 1, 2, { within: 1 })
      .release(310, 1, 2)
      .release(320, 1, 1, 'fail', { why: 'lost' }),
  ],
  [
    'an unlock with an unknown outcome, and the lease that goes on',
    story().take(10, 1, 1).release(20, 1, 1, 'info').count(30, 1, 1, 1).count(1_100, 1, 1, 0).take(1_200, 2, 1),
  ],
  [
    'permits that a dead client has, or that an unknown outcome may have, are missing',
    story()
      .set(1)
      .permits(10, 1, 1, 1)
      .killed(20, 1)
      .invoke(30, 2, 1, { call: 'take', permits: 1, total: 3 })
      .end(31, 2, 1, 'info')
      .available(40, 1)
      .available(41, 2),
  ],
  [
    'permits that somebody takes or gives back while they are counted',
    story().set(1).permits(10, 1, 1, 2).available(20, 1).release(20, 1, 1).permits(22, 2, 1, 3).available(21, 0),
  ],
  ['a number of permits that may not have been set yet', story().set(1, 'info').available(10, 0).set(11, 'fail')],
  ['a call of a killed process does not end', story().invoke(1, 1, 1, { call: 'take', lease: 1_000 }).killed(2, 1)],
];

describe('the checker of histories', () => {
  for (const [title, rule, { rules }] of WRONG) {
    it(`finds ${title}`, () => expect(rules).to.deep.equal([rule]));
  }

  for (const [title, { rules }] of RIGHT) {
    it(`accepts ${title}`, () => expect(rules).to.deep.equal([]));
  }

  it('shows the events of both holders and the trouble meanwhile, and no others', () => {
    const { events } = story()
      .take(10, 1, 1)
      .take(20, 2, 1)
      .release(30, 1, 1)
      .release(40, 2, 1)
      .take(50, 3, 1)
      .release(51, 3, 1);
    const fault: Event = { type: 'fault', at: 15_000, p: 0, what: 'cut' };
    const later: Event = { type: 'fault', at: 45_000, p: 0, what: 'cut' };
    const [finding] = check([later, ...events, fault]).findings;
    expect(finding!.piece).to.deep.equal([...events.slice(0, 2), fault, ...events.slice(2, 8)]);
  });

  it('counts what it judged', () => {
    const { events } = story().take(10, 1, 1).release(20, 1, 1).invoke(30, 1, 2, { call: 'take' }).killed(31, 1);
    const { operations, names, kinds } = check(events);
    expect({ operations, names }).to.deep.equal({ operations: 3, names: 1 });
    expect([...kinds]).to.deep.equal([['lock', { ok: 2, fail: 0, info: 0, dead: 1 }]]);
  });
});
