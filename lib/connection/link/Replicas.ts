import pDefer, { type DeferredPromise } from 'p-defer';
import { callerContext, runOutside, type Context } from '../../util/outside';
import { isReply } from './replyErrors';

/** The number of replicas is read again after this many ms, if commands are sent: one may have been added. */
const MAX_AGE_MS = 30_000;
/** The same while there is no replica: after a failover the old master comes back as a replica of the new one. */
const MAX_AGE_ALONE_MS = 1_000;
/** The reply of a server that has no WAIT, or does not let this user run it. */
const NO_WAIT = /unknown command|NOPERM|not (?:available|supported|allowed)/i;

/** The connection whose writes the replicas are to confirm. */
export interface ReplicaChannel {
  /** Sends a command. */
  send(command: string, args: (string | number)[]): Promise<unknown>;
  /** Runs `action` after everything else that is sent in this turn. */
  last(action: () => void): void;
}

/**
 * The result of a confirmation: the number of replicas, or why it is unknown; `undefined` where no replica could be
 * asked.
 */
export type Confirmation = number | Error | undefined;

/** One WAIT. */
interface Confirming extends DeferredPromise<Confirmation> {
  /** That of the first caller whose write it confirms; the other callers of that turn share it. */
  readonly context: Context;
}

/**
 * Counts the replicas of a connection's master, and asks them to confirm its writes (WAIT).
 *
 * WAIT covers all earlier writes, so all scripts of one turn share one WAIT, which is sent together with them. It
 * also blocks the connection: while one WAIT is under way, the scripts that come meanwhile share the next. So a
 * replica that hangs costs every caller its time-out once or twice, however many callers there are.
 */
export class Replicas {
  readonly #channel: ReplicaChannel;
  readonly #timeoutMs: number;
  #count = 0;
  #readAt = -Infinity;
  /** The request for the number of replicas, while it is under way. */
  #reading: Promise<string | undefined> | undefined;
  /** Counts the connections. */
  #connection = 0;
  /** The next WAIT. */
  #next: Confirming | undefined;
  /** The WAIT under way. */
  #current: Confirming | undefined;
  /** The server has no WAIT, or does not let this user run it. */
  #off = false;

  /** @param timeoutMs - how long the replicas may take (`slavesSyncTimeout`) */
  constructor(channel: ReplicaChannel, timeoutMs: number) {
    this.#channel = channel;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Asks the master for the number of its replicas. Never rejects; without an answer the number stays as it was.
   * @returns the server's role, `master` or `slave`, if it answers
   */
  read(): Promise<string | undefined> {
    const reading = runOutside(() => this.#read());
    this.#reading = reading;
    void reading.then(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading;
  }

  async #read(): Promise<string | undefined> {
    this.#readAt = performance.now();
    try {
      const info = String(await this.#channel.send('info', ['replication']));
      this.#count = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? 0);
      return /^role:(\w+)/m.exec(info)?.[1];
    } catch (error) {
      if (isReply(error as Error)) this.#count = 0;
      return undefined;
    }
  }

  /**
   * How many replicas confirm the commands sent in this turn. Never rejects.
   * @returns `undefined` where there is no replica to ask
   */
  confirm(): Promise<Confirmation> | undefined {
    if (this.#off) return undefined;
    const ageMs = performance.now() - this.#readAt;
    if (this.#count === 0) {
      // Counted after the write: a replica that joins later gets the write with the rest of the data.
      const reading = this.#reading ?? (ageMs > MAX_AGE_ALONE_MS ? this.read() : undefined);
      return reading === undefined ? undefined : this.#confirmAfter(reading);
    }
    if (ageMs > MAX_AGE_MS) void this.read();
    if (this.#next === undefined) {
      this.#next = { ...pDefer<Confirmation>(), context: callerContext() };
      if (this.#current === undefined) this.#channel.last(() => this.#ask());
    }
    return this.#next.promise;
  }

  /** The connection is gone. Whether the replicas have its last writes can never be known. */
  lost(): void {
    this.#connection++;
    for (const round of [this.#current, this.#next]) round?.resolve(lost());
    this.#current = this.#next = undefined;
  }

  async #confirmAfter(reading: Promise<unknown>): Promise<Confirmation> {
    const connection = this.#connection;
    await reading;
    if (this.#count === 0) return undefined;
    return connection === this.#connection ? this.confirm() : lost();
  }

  #ask(): void {
    const round = this.#next;
    if (round === undefined) return;
    this.#next = undefined;
    this.#current = round;
    void round.context.runInAsyncScope(this.#wait, this).then((confirmation) => {
      round.resolve(confirmation);
      if (this.#current !== round) return;
      this.#current = undefined;
      if (this.#next !== undefined) this.#channel.last(() => this.#ask());
    });
  }

  async #wait(): Promise<Confirmation> {
    const asked = this.#count;
    try {
      const acked = Number(await this.#channel.send('wait', [asked, this.#timeoutMs]));
      if (acked < asked) void this.read();
      return acked;
    } catch (error) {
      if (!isReply(error as Error) || !NO_WAIT.test((error as Error).message)) return error as Error;
      this.#off = true;
      return undefined;
    }
  }
}

function lost(): Error {
  return new Error('The connection was lost before WAIT');
}
