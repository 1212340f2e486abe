import * as fs from 'node:fs';
import * as path from 'node:path';
import { SPEC } from './tlc';

/** The models of a module: its files `*.cfg`. */
export const MODELS: readonly string[] = fs
  .readdirSync(SPEC)
  // That of the traces is no model: test/spec/traces.test.ts.
  .filter((file) => file.endsWith('.cfg') && file !== 'Trace.cfg')
  .map((file) => file.slice(0, -'.cfg'.length));

/** Properties about what happens at last. TLC does not name them. */
const TEMPORAL: ReadonlySet<string> = new Set(['FreeIsTaken', 'QueueMoves']);
/** Properties about single steps. */
const ACTION: ReadonlySet<string> = new Set(['TokensGrow']);

/** The module of a model. */
export function moduleOf(model: string): string {
  return model.startsWith('Fair') ? 'FairQueue' : 'Models';
}

/** The text of a model. */
export function configOf(model: string): string {
  return fs.readFileSync(path.join(SPEC, `${model}.cfg`), 'utf8');
}

/** The same model, broken, and with one property. */
export function brokenConfig(model: string, way: string, property: string): string {
  const kept = configOf(model)
    .replace(/Broken = .*/, `Broken = ${JSON.stringify(way)}`)
    .replace(/^(INVARIANT|PROPERT).*\n/gm, '');
  const what = TEMPORAL.has(property) || ACTION.has(property) ? 'PROPERTY' : 'INVARIANT';
  return `${kept}${what} ${property}\n`;
}

/** What TLC calls a property when it is violated. */
export function calledBy(property: string): string {
  return TEMPORAL.has(property) ? 'temporal' : property;
}

/** A way to break the specification. */
export interface Break {
  readonly model: string;
  /** What does not hold then. */
  readonly violates: string;
  /** As in the module; where `listed`, also the name of a mutation of the simulation. */
  readonly way: string;
  readonly listed: boolean;
}

const listed = (model: string, violates: string, way: string): Break => ({ model, violates, way, listed: true });
const own = (model: string, violates: string, way: string): Break => ({ model, violates, way, listed: false });

/** All of them. */
export const BREAKS: readonly Break[] = [
  listed('Deadline', 'NoTwoBelievers', 'exclusion broken: whoever asks gets the lock'),
  listed('Deadline', 'NoTwoBelievers', 'release without asking for the owner'),
  listed('Deadline', 'NoTwoBelievers', 'the deadline counts from the reply'),
  listed('Deadline', 'NoTwoBelievers', 'deadlines pass unnoticed for a while'),
  own('Deadline', 'NoTwoBelievers', 'the deadline is not earlier than that of Redis'),
  own('Deadline', 'TokensGrow', 'a leftover gives its token again'),
  listed('Undo', 'NoGhosts', 'no undo'),
  listed('Undo', 'NoGhosts', 'a wait that ends forgets the attempt under way'),
  listed('Undo', 'NoGhosts', 'an undo on another connection counts as done'),
  listed('Reentry', 'HoldsAreThere', 'a release takes one hold off, instead of saying how many are left'),
  own('Renewal', 'NoGhosts', 'a renewal counts for the next hold'),
  listed('Failover', 'NoTwoBelievers', 'the watchdog renews what somebody else holds'),
  listed('HandOver', 'TokensGrow', 'a hand-over takes no token'),
  own('Ticket', 'NoTwoBelievers', 'a ticket is taken without a look'),
  own('Ticket', 'TokensGrow', 'a thread that was here before takes up a ticket'),
  own('RelayFaults', 'NoGhosts', 'a relay is released by the wrong name'),
  listed('Relay', 'NoTwoBelievers', 'a shorter lease that is on its way does not count'),
  own('Shorten', 'SleepsNoLonger', 'nobody hears of a shorter lease'),
  own('Extend', 'NoTwoBelievers', 'a shorter lease counts when it is confirmed'),
  own('Drain', 'NoTwoBelievers', 'a shutdown forgets the holds that stay'),
  listed('WakeUp', 'FreeIsTaken', 'no second attempt after subscribing'),
  listed('WakeUp', 'FreeIsTaken', 'messages wake nobody'),
  listed('WakeUp', 'FreeIsTaken', 'nobody is woken when the connection is back'),
  listed('FairQueue', 'InOrder', 'a fair waiter takes a free lock although another one is the head'),
  listed('FairMoves', 'QueueMoves', 'a fair waiter that attempts again goes to the end of the queue'),
  listed('FairQueue', 'GoesOnSoon', 'a fair lock is given back without a message, and nobody looks'),
  own('FairQueue', 'GoesOnSoon', 'the claim of a dead head never ends'),
  listed('Leave', 'FreeIsTaken', 'a head that leaves hands no wake-up on'),
  listed('WakeUp', 'FreeIsTaken', 'a lock is given back without a message to Java'),
];
