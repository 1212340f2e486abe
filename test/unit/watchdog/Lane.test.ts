import { expect } from 'chai';
import { newSendRecord } from '../../../lib/connection/pending/CommandExecutor';
import { type Lane, type Passing, RULES, type Wanted } from '../../../lib/watchdog/Lane';
import { type Hold, Ownership, ownershipKey, type Renewal } from '../../../lib/watchdog/Ownership';
import { OwnershipTable } from '../../../lib/watchdog/OwnershipTable';
import { turn } from '../../support';

const RELAY: Passing = { deadline: 0, drop: () => false };
const RENEWAL: Renewal = { renew: async () => [], batchOf: () => 0 };

/** What may be under way, of the owner itself, and of another set of its values. */
const UNDER_WAY: Readonly<Record<string, (lane: Lane) => () => void>> = {
  claim: (lane) => {
    const acquisition = {};
    lane.claim(acquisition, undefined);
    return () => lane.unclaim(acquisition);
  },
  command: (lane) => {
    const command = lane.begin(newSendRecord(), true);
    return () => lane.end(command, true);
  },
  relay: (lane) => {
    lane.join(RELAY);
    return () => lane.leave(RELAY);
  },
};

/** Claim, command, relay: of its own, and of sets that share a value with it. x: it waits. */
const EXPECTED: Readonly<Record<Wanted, string>> = {
  claim: 'x-- x--',
  attempt: '-xx -xx',
  release: 'x-- xx-',
  lease: 'x-x xx-',
  alone: '-xx -xx',
  count: '--x ---',
  undo: 'x-- x--',
  search: 'xxx xxx',
  heir: '-xx ---',
};

describe('the order of what one owner does', () => {
  let table: OwnershipTable;
  let own: Ownership;
  let other: Ownership;

  beforeEach(() => {
    table = new OwnershipTable();
    own = open('a', 'b');
    other = open('b', 'c');
  });

  function open(...fields: string[]): Ownership {
    const identity = { name: 'g', rawName: 'g', kind: 'group', threadId: 1, owner: 'c:1', renewal: RENEWAL } as const;
    const values = { fields, key: fields.join(' ') };
    return table.open(new Ownership({ ...identity, values, key: ownershipKey(`g ${values.key}`, identity.owner) }));
  }

  function hold(of: Ownership): Hold {
    const lease = { leaseMs: 1_000, leaseEnd: Infinity, watchdogMs: 1_000, maxRenewals: 0, renewals: 0 };
    const one: Hold = { since: 0, callSite: undefined, ...lease, released: false };
    of.holds = [...of.holds, one];
    return one;
  }

  async function isResolved(promise: Promise<void>): Promise<boolean> {
    let resolved = false;
    void promise.then(() => (resolved = true));
    await turn();
    return resolved;
  }

  for (const [wanted, row] of Object.entries(EXPECTED) as [Wanted, string][]) {
    it(`${wanted}: waits for what its row names, until that is over, and for nothing else`, async () => {
      hold(own);
      const cells = [...row.replace(' ', '')].map((cell) => cell === 'x');
      const kinds = Object.keys(UNDER_WAY);
      for (const [i, waits] of cells.entries()) {
        const what = kinds[i % kinds.length]!;
        const of = i < kinds.length ? own : other;
        expect(own.lane.turn(wanted), 'nothing is under way').to.equal(undefined);
        const end = UNDER_WAY[what]!(of.lane);
        const waiting = own.lane.turn(wanted);
        expect(waiting !== undefined, `${of === own ? 'own' : "another set's"} ${what}`).to.equal(waits);
        expect(own.lane.turn(wanted), 'all share one promise').to.equal(waiting);
        if (waiting !== undefined) expect(await isResolved(waiting)).to.equal(false);
        end();
        if (waiting !== undefined) expect(await isResolved(waiting)).to.equal(true);
      }
    });
  }

  it('has a row for each of RULES', () => {
    expect(Object.keys(EXPECTED)).to.have.members(Object.keys(RULES));
  });

  it('a release and a lease wait only while there are holds; an undo does not care', async () => {
    const one = hold(own);
    own.lane.claim({}, undefined);
    const waiting = (['release', 'lease', 'undo'] as const).map((wanted) => own.lane.turn(wanted)!);
    own.holds = own.holds.filter((hold) => hold !== one);
    own.lane.recheck();
    expect(await Promise.all(waiting.map(isResolved))).to.deep.equal([true, true, false]);
  });

  it('a command leaves what there is when it is written; of a lock that is passed on, the hold on record', () => {
    const [first, second] = [hold(own), hold(own)];
    const command = own.lane.begin(newSendRecord(), true);
    expect(command.leaves().left).to.equal(2);
    own.holds = own.holds.filter((hold) => hold !== first);
    expect(command.leaves().left).to.equal(1);
    expect(command.leftNone).to.equal(false);
    own.lane.join(RELAY);
    own.holds = own.holds.filter((hold) => hold !== second);
    expect(command.leaves()).to.deep.equal({ left: 1, remainingMs: 0 });
    expect(command.leftNone).to.equal(false);
    own.lane.leave(RELAY);
    expect(command.leaves()).to.deep.equal({ left: 0, remainingMs: 0 });
    expect(command.leftNone).to.equal(true);
  });

  it('a command that left no hold, and may have run, has freed the lock for those beside it, of other sets, too', () => {
    for (const [left, ran] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      const commands = [own, own, other].map(({ lane }) => lane.begin(newSendRecord(), true));
      const [freeing, beside, ofOther] = commands;
      if (left) freeing!.leaves();
      own.lane.end(freeing!, ran);
      const freed = [own.lane.wasFreedBeside(beside!), other.lane.wasFreedBeside(ofOther!)];
      expect(freed).to.deep.equal([left && ran, left && ran]);
      own.lane.end(beside!, false);
      other.lane.end(ofOther!, false);
      expect(own.lane.wasFreedBeside(own.lane.begin(newSendRecord(), true)), 'a later one').to.equal(false);
      own.lane.end(beside!, false);
      table = new OwnershipTable();
      [own, other] = [open('a', 'b'), open('b', 'c')];
    }
  });

  it('knows which command is the last that a caller wanted, and which had others beside it', () => {
    const { lane } = own;
    const first = lane.begin(newSendRecord(), true);
    expect([lane.hasChangedSince(first), lane.hadOthersBeside(first)]).to.deep.equal([false, false]);
    const undo = lane.begin(newSendRecord(), false);
    expect([lane.hasChangedSince(first), lane.hadOthersBeside(first)]).to.deep.equal([false, true]);
    const second = lane.begin(newSendRecord(), true);
    expect([lane.hasChangedSince(first), lane.hasChangedSince(second)]).to.deep.equal([true, false]);
    for (const one of [first, undo]) lane.end(one, true);
    expect(lane.hadOthersBeside(second)).to.equal(true);
    lane.end(second, true);
    expect(lane.hadOthersBeside(lane.begin(newSendRecord(), true))).to.equal(false);
  });

  it('is busy for a caller, and idle when nothing is left, undos that pause included', () => {
    const { lane } = own;
    const endUndo = lane.undo();
    expect([lane.idle, lane.busy]).to.deep.equal([false, false]);
    let unblock = lane.block();
    expect(lane.busy, 'no caller waits for an undo').to.equal(false);
    unblock();
    expect(endUndo()).to.equal(true);
    unblock = lane.block();
    expect([lane.idle, lane.busy]).to.deep.equal([false, true]);
    unblock();
    expect([lane.idle, lane.busy]).to.deep.equal([true, false]);
  });

  it('what ends ends once, and nothing but itself', () => {
    const { lane } = own;
    const [mine, others] = [{}, {}];
    for (const [wanted, begin, end] of [
      ['claim', () => lane.claim(mine, undefined), [() => lane.unclaim(others), () => lane.unclaim(mine)]],
      ['count', () => lane.join(RELAY), [() => lane.leave({ ...RELAY }), () => lane.leave(RELAY)]],
    ] as const) {
      begin();
      end[0]();
      expect(lane.mustWait(wanted), `${wanted}: another one has ended`).to.equal(true);
      end[1]();
      expect(lane.mustWait(wanted)).to.equal(false);
    }
    const command = lane.begin(newSendRecord(), true);
    const unblock = lane.block();
    for (const end of [() => lane.end(command, true), () => lane.end(command, true)]) end();
    expect(lane.mustWait('heir'), 'a command that ended twice').to.equal(true);
    unblock();
    unblock();
    expect(lane.idle).to.equal(true);
    const ends = [lane.undo(), lane.undo()];
    expect([ends[0]!(), ends[0]!(), lane.idle, ends[1]!(), lane.idle]).to.deep.equal([false, false, false, true, true]);
  });
});
