import type { CommandError, ConnectionError } from '../../errors';
import type { Script, ScriptArg } from '../../scripts/Script';

/** A caller's record of one command: how it fared, and whether it may be sent again. */
export interface SendRecord {
  /** Set by the caller: it no longer waits, so do not send the command (again). */
  cancelled: boolean;
  /** How often it was written to a connection. */
  sends: number;
  /** The connection it was last written to, counted up with each reconnect. */
  connectionNumber: number;
  /** Whether it was written to more than one: a copy on a broken connection may run after later commands. */
  onManyConnections: boolean;
  /** Whether it ran and no replica has confirmed it: a failover may undo it. @default false */
  unconfirmed?: boolean;
  /** The last temporary refusal of the server, since the caller last cleared it. */
  refusal?: CommandError | undefined;
  /** When it was first written (monotonic), since the caller last cleared it. */
  sentAt: number | undefined;
  /**
   * It undoes what a call left behind. It is accepted in the turn in which the executor closes, too, and then sent
   * with the script's text, as that could not be sent later to a server that does not know the hash. @default false
   */
  readonly cleanup?: boolean;
  /**
   * The acquisition that it is an attempt of: it says whether it may go on when its client begins to shut down, and
   * whether it waits. One that does not wait fails at once when a healthy server cannot take it now.
   * @default it is not an acquisition
   */
  readonly acquirer?: { readonly mayBegin?: (() => void) | undefined; readonly waits?: boolean } | undefined;
}

/** A fresh record. */
export function newSendRecord(acquirer?: SendRecord['acquirer']): SendRecord {
  return {
    cancelled: false,
    sends: 0,
    connectionNumber: -1,
    onManyConnections: false,
    refusal: undefined,
    sentAt: undefined,
    acquirer,
  };
}

/** A fresh record of a cleanup: a command that undoes what a call left behind. */
export function newCleanupRecord(): SendRecord {
  return { ...newSendRecord(), cleanup: true };
}

/** What may change before a command is sent, or until it is sent again: then it is asked for at each writing. */
export type Fresh<T> = T | (() => T);

/** The options of {@link CommandExecutor.run}. */
export interface RunOptions<R = unknown> {
  /** The operation, for errors, e.g. `acquire lock 'a'`. @default the script's name */
  readonly what?: string;
  /** The object's name as the user gave it, for errors. */
  readonly name?: string;
  /** The key whose slot decides the node on a cluster, for plain commands without one. @default their first argument */
  readonly routeBy?: string;
  /**
   * How long it may take in all, in ms, whatever is repeated meanwhile.
   * @default the command time-out for what only asks, and for the only attempt of an acquisition; else that of
   *   `longestWaitMs` and two command time-outs
   */
  readonly timeout?: number | undefined;
  /** KEYS beyond the named ones. */
  readonly moreKeys?: readonly string[];
  /** ARGV beyond the named ones. */
  readonly moreArgs?: Fresh<readonly ScriptArg[]> | undefined;
  readonly sendRecord?: SendRecord | undefined;
  /**
   * Receives the value of a script whose caller has got an error: the reply came after the command time-out, or no
   * replica confirmed it.
   */
  late?(value: R): void;
}

/**
 * Runs scripts and reads on the master that owns a key. Everything above `connection/` reaches Redis through this.
 *
 * Commands wait for a connection for a bounded time, are written in the order of the calls, get a reply or an error
 * within the command time-out, and are sent again only where their script allows it.
 */
export interface CommandExecutor {
  /**
   * Runs a script.
   * @param args - a function is asked at each writing: so a command that had to wait, or is sent again, carries what is
   *   true then
   * @throws ConnectionError, CommandTimeoutError (both say whether it may have run), CommandError (Redis' own error as
   *   `cause`), NoSyncedReplicasError, ShutdownError
   */
  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Fresh<Readonly<Record<A, ScriptArg>>>,
    options?: RunOptions<R>,
  ): Promise<R>;

  /** Sends a plain command that changes nothing, or has the same effect when repeated. */
  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown>;

  /**
   * Publishes a message; on a cluster with sharded pub/sub, in the shard of the channel.
   * @returns the number of receivers
   */
  publish(channel: string, message: string): Promise<number>;

  /**
   * Why no command for this key can be sent now; `undefined` when one can, or no trouble is known.
   * @param what - the operation that fails, for the error
   */
  outage(key: string, what: string): ConnectionError | undefined;

  /** What must be equal for two keys to be in one command: the slot on a cluster, nothing otherwise. */
  slotOf(key: string): number;

  /** Counted up each time a connection is lost. */
  readonly connectionNumber: number;

  /**
   * Whether a client that drains waits for commands: for unanswered ones, and for releases that are not sent yet. Not
   * for those whose caller knows the outcome already.
   */
  readonly busy: boolean;

  /**
   * The client begins to drain: rejects unsent attempts of acquisitions that may no longer begin.
   */
  drain?(): void;

  /** Called after each reply, before its caller continues. */
  onReply: (() => void) | undefined;

  /**
   * Called when a script was run but its user may not publish.
   * @param what - the operation, e.g. `release permits of semaphore 'a'`
   */
  onUnheard: ((what: string) => void) | undefined;

  /**
   * Called when another connection or another server serves some keys: their data may be gone. Commands sent from now
   * on go there.
   * @param concerns - whether a key is among them
   */
  onReplaced?: ((concerns: (key: string) => boolean) => void) | undefined;

  /** Resolves in a later turn of the event loop: answers that wait in the sockets are read before. */
  laterTurn(): Promise<void>;

  /**
   * Rejects all unanswered calls, and from now on every call, with ShutdownError. Their callers may undo what they
   * left behind: with a cleanup record within this turn of the event loop, and with {@link RunOptions.late} when the
   * answer comes. It waits for those answers within limits, and then closes the connections.
   */
  close(): Promise<void>;
}
