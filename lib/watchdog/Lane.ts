import pDefer, { type DeferredPromise } from 'p-defer';
import type { SendRecord } from '../connection/pending/CommandExecutor';
import type { Scope } from '../thread/threadScope';

/** What may be under way for an owner: an acquisition; a command that changes what Redis has of it; a relay. */
const CLAIM = 1;
const COMMAND = 2;
const RELAY = 4;
/** The same for sets of values of its owner that share one with it. */
const OTHERS = 3;
const others = (what: number): number => what << OTHERS;

/**
 * THE order of what one owner does in one lock: what waits for what, or is refused meanwhile. Everything else runs
 * beside each other: commands carry what is true when they are written ({@link OwnerCommand}).
 *
 * | row       | what for                                                   | why it waits                                |
 * |-----------|------------------------------------------------------------|---------------------------------------------|
 * | `claim`   | an acquisition begins; else it is refused                  | one owner: Redis would let both in          |
 * | `attempt` | each command of an acquisition                             | one sent again would undo what it takes     |
 * | `release` | a release, while there are holds                           | the count of the acquisition is open        |
 * | `lease`   | another lease, while there are holds                       | likewise; a relay has it under another name |
 * | `alone`   | a release of unknown holds, `detach`                       | it reads, or moves, what a command changes  |
 * | `count`   | a read that names the owner; a read under its own write    | a relay has it under another name           |
 * | `undo`    | an undo for no caller: `releaseLost`, `keepLease`          | it would overtake the acquisition           |
 * | `search`  | the search for what no caller owns finds it unwanted       | what it finds may be wanted                 |
 * | `heir`    | it gets the lock by a hand-over; else another one does     | as `attempt`                                |
 *
 * Of sets that share a value only one has commands under way: which of two has freed that value would not be known.
 */
export const RULES = {
  claim: CLAIM | others(CLAIM),
  attempt: COMMAND | RELAY | others(COMMAND | RELAY),
  release: CLAIM | others(CLAIM | COMMAND),
  lease: CLAIM | RELAY | others(CLAIM | COMMAND),
  alone: COMMAND | RELAY | others(COMMAND | RELAY),
  count: RELAY,
  undo: CLAIM | others(CLAIM),
  search: CLAIM | COMMAND | RELAY | others(CLAIM | COMMAND | RELAY),
  heir: COMMAND | RELAY,
};

/** A row of {@link RULES}. */
export type Wanted = keyof typeof RULES;

/** Rows that wait only while there are holds: without any, the call is refused, or has nothing to do. */
const WHILE_HELD: ReadonlySet<Wanted> = new Set(['release', 'lease']);

/** What a command leaves of an owner's holds. */
export interface Remainder {
  /** How many. */
  readonly left: number;
  /** The lease that those need, in ms; 0 leaves the expiry unchanged. */
  readonly remainingMs: number;
}

/** Whose lane it is: an ownership. */
interface Owner {
  readonly lane: Lane;
  readonly holds: readonly unknown[];
  /** See `Ownership.overlapping`. */
  readonly overlapping: readonly Owner[] | undefined;
  /** What a command that is written now is to leave. */
  remainder(): Remainder;
}

/** Leaves what there is. */
const AS_IT_IS: Remainder = Object.freeze({ left: 1, remainingMs: 0 });

/** A lock that is passed on within this process before Redis knows. */
export interface Passing {
  /** Monotonic time until which Redis keeps the lock for this process, whoever of it has it. */
  readonly deadline: number;
  /** An acquisition that got the lock so was given up. @returns whether it has it, and so what it has is handled */
  drop(acquisition: object): boolean;
}

/**
 * What is under way for one owner in one lock, and what must wait for it: {@link RULES}. Nobody else knows or decides
 * that.
 *
 * It runs nothing: who must wait gets a promise, which all share who wait for the same, and then asks again. So nobody
 * runs in the context of another caller, and there is no queue in which a release could stand behind a silent one.
 *
 * What ends names what has begun, and ends it once: nobody can end what is another's, nor end anything twice.
 */
export class Lane<O extends Owner = Owner> {
  readonly #of: O;
  /** What is under way: CLAIM, COMMAND, RELAY. */
  #under = 0;
  #claim: object | undefined;
  #claimant: Scope | undefined;
  #commands = 0;
  #undos = 0;
  #relay: Passing | undefined;
  #waiting: Map<Wanted, DeferredPromise<void>> | undefined;
  /** How many commands have begun. */
  #begun = 0;
  /** The number of the last one that a caller wanted: an undo changes nothing that anybody counts on. */
  #lastChange = 0;
  /** When a command ended that has freed the lock, or may have (monotonic). */
  #freedAt = -Infinity;

  constructor(of: O) {
    this.#of = of;
  }

  /** Whether an acquisition is under way; there is at most one. */
  get claimed(): boolean {
    return (this.#under & CLAIM) !== 0;
  }

  /** The section for which that acquisition is made; other calls wait for the whole section. */
  get claimant(): Scope | undefined {
    return this.#claimant;
  }

  /**
   * Set while Redis may have the lock under the name of another thread of this process: no command may name this owner.
   */
  get relay(): Passing | undefined {
    return this.#relay;
  }

  /** Whether its owner waits for the end of a command: an undo has no caller. */
  get busy(): boolean {
    return this.mustWait('alone') && this.#undos === 0;
  }

  /** Whether nothing is under way for it, undos that pause included. */
  get idle(): boolean {
    return this.#under === 0 && this.#undos === 0;
  }

  /** Whether it must wait now. */
  mustWait(wanted: Wanted): boolean {
    const rule = RULES[wanted];
    const { overlapping } = this.#of;
    if ((rule & this.#under) !== 0) return true;
    return overlapping !== undefined && overlapping.some(({ lane }) => (rule & others(lane.#under)) !== 0);
  }

  /**
   * What to await before it is its turn, and to ask again then; `undefined`: now.
   */
  turn(wanted: Wanted): Promise<void> | undefined {
    if (!this.mustWait(wanted)) return undefined;
    const waiting = (this.#waiting ??= new Map<Wanted, DeferredPromise<void>>());
    let turn = waiting.get(wanted);
    if (turn === undefined) waiting.set(wanted, (turn = pDefer<void>()));
    return turn.promise;
  }

  /** An acquisition begins. @param section - see {@link claimant} */
  claim(acquisition: object, section: Scope | undefined): void {
    this.#under |= CLAIM;
    this.#claim = acquisition;
    this.#claimant = section;
  }

  /** It has ended. */
  unclaim(acquisition: object): void {
    if (this.#claim !== acquisition) return;
    this.#claim = this.#claimant = undefined;
    this.#ended(CLAIM);
  }

  /**
   * A command begins.
   * @param isChange - `false`: an undo, which is sent for no caller
   */
  begin(sendRecord: SendRecord, isChange: boolean): OwnerCommand<O> {
    const isAlone = !this.mustWait('alone');
    const number = ++this.#begun;
    this.#commands++;
    this.#under |= COMMAND;
    if (isChange) this.#lastChange = number;
    return new OwnerCommand(this.#of, sendRecord, number, isAlone);
  }

  /**
   * It has ended.
   * @param ran - whether it did what it was to do, or may have
   */
  end(command: OwnerCommand, ran: boolean): void {
    if (command.over) return;
    command.over = true;
    if (ran && command.leftNone) {
      const now = performance.now();
      this.#freedAt = now;
      this.#of.overlapping?.forEach(({ lane }) => (lane.#freedAt = now));
    }
    if (--this.#commands === 0) this.#ended(COMMAND);
  }

  /**
   * An undo begins, of which each try is a command; between two tries it is not in the way of anything.
   * @returns ends it; then it says whether it was the last one
   */
  undo(): () => boolean {
    let isOpen = true;
    this.#undos++;
    return () => {
      if (isOpen) this.#undos--;
      isOpen = false;
      return this.#undos === 0;
    };
  }

  /** Something is under way that counts like a command, although it may not be written yet. @returns ends it */
  block(): () => void {
    let isOpen = true;
    this.#commands++;
    this.#under |= COMMAND;
    return () => {
      if (isOpen && --this.#commands === 0) this.#ended(COMMAND);
      isOpen = false;
    };
  }

  /** It is part of a relay from now on. */
  join(relay: Passing): void {
    this.#relay = relay;
    this.#under |= RELAY;
  }

  /** Redis is known not to have its owner on record, or to have it rightly. */
  leave(relay: Passing): void {
    if (this.#relay !== relay) return;
    this.#relay = undefined;
    this.#ended(RELAY);
  }

  /** Whether a command that a caller wanted has begun since this one. */
  hasChangedSince({ number }: OwnerCommand): boolean {
    return this.#lastChange !== number;
  }

  /** Whether any other command was under way beside this one. */
  hadOthersBeside({ number, isAlone }: OwnerCommand): boolean {
    return !isAlone || this.#begun !== number;
  }

  /** Whether another command that was under way beside this one has freed the lock, or may have. */
  wasFreedBeside({ begunAt }: OwnerCommand): boolean {
    return this.#freedAt >= begunAt;
  }

  /** Lets those continue who need not wait any more. Called by itself, and when no holds are left. */
  recheck(): void {
    if (this.#waiting === undefined) return;
    for (const [wanted, turn] of this.#waiting) {
      if (this.mustWait(wanted) && !(WHILE_HELD.has(wanted) && this.#of.holds.length === 0)) continue;
      this.#waiting.delete(wanted);
      turn.resolve();
    }
  }

  #ended(what: number): void {
    this.#under &= ~what;
    if (this.#waiting !== undefined) this.recheck();
    this.#of.overlapping?.forEach(({ lane }) => lane.recheck());
  }
}

/**
 * A command that leaves so many holds of an owner as there are when it is written, with the lease that those need: a
 * release, another lease, an undo. Several of them may be under way at once. They are written to one connection, so
 * the last one carries what is true, whichever of them had to be sent again.
 */
export class OwnerCommand<O extends Owner = Owner> {
  readonly ownership: O;
  readonly sendRecord: SendRecord;
  /** Its number among the commands of its owner. */
  readonly number: number;
  /** Whether no other one was under way when it began. */
  readonly isAlone: boolean;
  /** Monotonic. */
  readonly begunAt = performance.now();
  /** Whether it was written to leave no hold. */
  leftNone = false;
  /** Whether it has ended; set by its lane. */
  over = false;

  constructor(ownership: O, sendRecord: SendRecord, number: number, isAlone: boolean) {
    this.ownership = ownership;
    this.sendRecord = sendRecord;
    this.number = number;
    this.isAlone = isAlone;
  }

  /** What it leaves, if it is written now. Of a lock that is passed on, Redis has a hold under its owner's name. */
  leaves(): Remainder {
    const { ownership } = this;
    const remainder = ownership.lane.relay === undefined ? ownership.remainder() : AS_IT_IS;
    if (remainder.left === 0) this.leftNone = true;
    return remainder;
  }
}
