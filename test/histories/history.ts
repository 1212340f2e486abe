import * as fs from 'node:fs';
import * as path from 'node:path';

/**
 * What a process is asked for.
 *
 * - `take`, `release`: a hold of a lock, or permits; `release` without `of` is by somebody who has nothing
 * - `count`: how many holds a thread has; `available`: how many permits are left; `set`: so many permits there shall be
 * - `down`, `await`: of a latch
 * - `detach`, `attach`: a hold becomes a ticket; a ticket becomes a hold, of whatever process
 */
export type Call = 'take' | 'release' | 'count' | 'available' | 'set' | 'down' | 'await' | 'detach' | 'attach';

interface Happening {
  /** In µs of CLOCK_MONOTONIC, which all processes of a machine share. */
  readonly at: number;
  /** The number of the process; 0 is the one that makes the trouble. */
  readonly p: number;
}

/** A call begins. */
export interface Invocation extends Happening {
  readonly type: 'invoke';
  /** The number of the call in its process. */
  readonly op: number;
  readonly call: Call;
  /** `fair lock`, `semaphore`: what the verdict counts by. */
  readonly kind: string;
  /** Two of one name are one thing: both halves of a read/write lock have the same. */
  readonly name: string;
  /** `take`, `attach`, `detach`: the lease that was asked for, or that each renewal sets, in ms. */
  readonly lease?: number;
  /** `take`, `attach`: the watchdog renews it. */
  readonly renewed?: boolean;
  /** `take`: others that share may be inside as well. */
  readonly shared?: boolean;
  /** `take`: a re-entry into that hold. `count`: what the thread took last. */
  readonly within?: number;
  /** `take`: so many permits. `release`: so many once more. */
  readonly permits?: number;
  /** `available`, `set`, `take` of permits: so many there are. For a latch: its count. */
  readonly total?: number;
  /** `release`, `detach`: of what. */
  readonly of?: number;
  /** `attach`: a part of the ticket. */
  readonly ticket?: string;
}

/**
 * A call ends: `ok`: done; `fail`: not done; `info`: it rejected because of a fault, and may have been done or not.
 */
export interface Completion extends Happening {
  readonly type: 'ok' | 'fail' | 'info';
  readonly op: number;
  /** `take`: until when the client may rely on it, as far as it knew then, in µs. */
  readonly until?: number;
  /** `take` of a fenced lock. */
  readonly token?: string;
  /** `detach`: a part of the ticket. `until` is the end of its lease. */
  readonly ticket?: string;
  /** `take` of permits with ids. */
  readonly ids?: readonly string[];
  /** `count`, `available`. */
  readonly value?: number;
  /** `count`: it only says whether there is a hold. */
  readonly some?: boolean;
  /** Why not: `lost`, `notOwner`, or an error. */
  readonly why?: string;
  /** No fault explains this error. */
  readonly unexpected?: boolean;
}

/**
 * A client has looked at what it took by call `op`: it still has it, until `until` at least, or knows that it is lost.
 */
export interface Look extends Happening {
  readonly type: 'held' | 'lost';
  readonly op: number;
  readonly until?: number;
}

/** Something happens to a process, or to all of them. */
export interface Note extends Happening {
  /**
   * `killed`: by SIGKILL, from then on; `ended`: as it should, after its last call; `fault`: somebody made trouble;
   * `wrong`: what must not be, whoever noticed.
   */
  readonly type: 'killed' | 'ended' | 'fault' | 'wrong';
  readonly what?: string;
}

/** One line of a history. */
export type Event = Invocation | Completion | Look | Note;

/** What time it is in a history. */
export function historyNow(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** What is not about locks that are passed on by ticket. */
export function withoutTickets(events: readonly Event[]): Event[] {
  const about = new Set<string>();
  const call = ({ p }: Event, op: number): string => `${p}/${op}`;
  for (const event of events) {
    if (event.type === 'invoke' && event.kind.startsWith('ticket ')) about.add(call(event, event.op));
  }
  return events.filter((event) => !('op' in event) || !about.has(call(event, event.op)));
}

/** All that the processes have written into a folder, in no order. */
export function readHistory(folder: string): Event[] {
  const events: Event[] = [];
  for (const file of fs.readdirSync(folder)) {
    if (!file.endsWith('.jsonl')) continue;
    const lines = fs.readFileSync(path.join(folder, file), 'utf8').split('\n');
    // What is behind the last line feed was cut off by a SIGKILL, or is nothing.
    lines.pop();
    for (const line of lines) events.push(JSON.parse(line) as Event);
  }
  return events;
}
