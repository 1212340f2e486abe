import type { LockHold, RLock } from '../../lib';
import { EVERY_LOCK, makeLock } from '../support/kinds';
import { sleep, turn } from '../../tools/realTimers';
import { historyNow } from './history';
import { reliable, roundPrefix, type Stage } from './LockActor';

/** A ticket on its way to another process. */
export interface Letter {
  readonly ticket: string;
  readonly kind: string;
  readonly name: string;
}

const LANES = 4;
/** For how long a lock waits for its ticket, in ms; some are on the way for longer. */
const TICKET_LEASES_MS = [150, 600, 2_500];
const KINDS = EVERY_LOCK.filter(({ move }) => move !== undefined);

/** Takes locks, and passes them on to other processes by ticket. */
export class TicketActor {
  readonly #stage: Stage;
  readonly #post: (letter: Letter) => void;

  /** @param post - brings a ticket to some process, or to two */
  constructor(stage: Stage, post: (letter: Letter) => void) {
    this.#stage = stage;
    this.#post = post;
  }

  /** Takes one lock, and gives it back or passes it on. */
  async act(): Promise<void> {
    const { client, recorder, random, watchdogMs } = this.#stage;
    const kind = random.of(KINDS);
    const name = `${roundPrefix(random.below(LANES))}:ticket-${kind.noun.replaceAll(' ', '-')}`;
    const lock: RLock = makeLock(kind, client, name);
    const what = { kind: `ticket ${kind.noun}`, name };
    const leaseTime = random.chance(50) ? -1 : random.between(150, 3_000);
    const op = recorder.invoke({ call: 'take', ...what, ...leaseOf(leaseTime, watchdogMs) });
    try {
      const hold = await lock.tryAcquireHold({ leaseTime, waitTime: random.between(1, 500) });
      if (hold === null) return recorder.end(op, 'fail');
      recorder.got(op, hold);
      await this.#goOn(what, op, hold);
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  /** Takes up what another process has left. */
  async takeUp({ ticket, kind, name }: Letter): Promise<void> {
    const { client, recorder, random, watchdogMs } = this.#stage;
    const leaseTime = random.chance(50) ? -1 : random.between(150, 3_000);
    const what = { kind, name };
    const op = recorder.invoke({
      call: 'attach',
      ...what,
      ...leaseOf(leaseTime, watchdogMs),
      ticket: shortForm(ticket),
    });
    let hold: LockHold;
    try {
      hold = await client.attach(ticket, { leaseTime });
      recorder.got(op, hold);
    } catch (error) {
      return recorder.failed(op, error);
    }
    await this.#goOn(what, op, hold);
  }

  async #goOn(what: { readonly kind: string; readonly name: string }, of: number, hold: LockHold): Promise<void> {
    const { recorder, random } = this.#stage;
    await this.#stay();
    recorder.look(of, hold);
    if (random.chance(70) && (await this.#passOn(what, of, hold))) return;
    const op = recorder.invoke({ call: 'release', ...what, of });
    try {
      await hold.unlock();
      recorder.end(op, 'ok');
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  /** @returns whether this client has it no more */
  async #passOn(what: { readonly kind: string; readonly name: string }, of: number, hold: LockHold): Promise<boolean> {
    const { recorder, random } = this.#stage;
    const leaseTime = random.of(TICKET_LEASES_MS);
    const op = recorder.invoke({ call: 'detach', ...what, of, lease: leaseTime });
    const askedAt = historyNow();
    try {
      const ticket = await hold.detach({ leaseTime });
      recorder.end(op, 'ok', { ticket: shortForm(ticket), until: reliable(askedAt, leaseTime) });
      this.#post({ ...what, ticket });
      return true;
    } catch (error) {
      recorder.failed(op, error);
      return !hold.isHeld;
    }
  }

  async #stay(): Promise<void> {
    const { random } = this.#stage;
    if (random.chance(2)) await sleep(random.between(200, 700));
    else if (random.chance(20)) await sleep(random.between(1, 4));
    else await turn();
  }
}

function leaseOf(leaseTime: number, watchdogMs: number): { readonly lease: number; readonly renewed?: true } {
  return leaseTime === -1 ? { lease: watchdogMs, renewed: true } : { lease: leaseTime };
}

/** Enough of a ticket to know it again. */
function shortForm(ticket: string): string {
  return ticket.slice(ticket.lastIndexOf('.') + 1);
}
