import type { CommandError, ConnectionError } from '../../errors';
import type { Script, ScriptArg } from '../../scripts/Script';

/** What a caller keeps of one command to learn how it fared, and to stop it from being sent again. */
export interface SendRecord {
  /** Set by the caller: nobody waits any more, do not send it (again). */
  cancelled: boolean;
  /** How often it was written to a connection. */
  sends: number;
  /** The connection it was last written to, counted up with each reconnect. */
  connectionNumber: number;
  /** Whether it was written to more than one: what the broken one had taken may run after what came later. */
  onManyConnections: boolean;
  /** Whether it was done, and no replica has confirmed it: a failover may take it back. @default false */
  unconfirmed?: boolean;
  /** What the server said when it last refused it for the time being, since the caller last forgot it. */
  refusal?: CommandError | undefined;
  /** When it was first written (monotonic), since the caller last forgot it. */
  sentAt: number | undefined;
  /**
   * It takes back what a call left behind: accepted in the turn in which the executor closes, too, and then sent with
   * the script's text, as nobody may be left to send that when the server does not know the hash. @default false
   */
  readonly cleanup?: boolean;
  /**
   * The acquisition that it is an attempt of: asked whether it may go on when its client begins to shut down, and whether
   * it waits. One that does not wait learns at once of a sound server that takes none now.
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

/** A fresh record of a cleanup: a command that takes back what a call left behind. */
export function newCleanupRecord(): SendRecord {
  return { ...newSendRecord(), cleanup: true };
}

/** What may be given to {@link CommandExecutor.run}. */
export interface RunOptions<R = unknown> {
  /** What is being done, for errors, e.g. `acquire lock 'a'`. @default the script's name */
  readonly what?: string;
  /** The object's name as the user gave it, for errors. */
  readonly name?: string;
  /** The key whose slot decides the node on a cluster, for plain commands without one. @default their first argument */
  readonly routeBy?: string;
  /** KEYS beyond the named ones. */
  readonly moreKeys?: readonly string[];
  /** ARGV beyond the named ones. */
  readonly moreArgs?: readonly ScriptArg[] | undefined;
  readonly sendRecord?: SendRecord | undefined;
  /**
   * Given the value of a script whose caller has got an error: the reply came after the command time-out, or no
   * replica confirmed it.
   */
  late?(value: R): void;
}

/**
 * Runs scripts and reads on the master that owns a key. Everything above `connection/` sees Redis through this.
 *
 * Commands wait for a connection for a bounded time, are written in the order of the calls, get a reply or an error
 * within the command time-out, and are sent again only where their script allows it.
 */
export interface CommandExecutor {
  /**
   * Runs a script.
   * @throws ConnectionError, CommandTimeoutError (both say whether it may have run), CommandError (Redis' own error as
   *   `cause`), NoSyncedReplicasError, ShutdownError
   */
  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Readonly<Record<A, ScriptArg>>,
    options?: RunOptions<R>,
  ): Promise<R>;

  /** Sends a plain command that changes nothing, or changes the same when repeated. */
  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown>;

  /** Publishes a message; on a cluster with sharded pub/sub, to the shard of the channel. @returns its receivers */
  publish(channel: string, message: string): Promise<number>;

  /**
   * Why no command for this key can be sent now; `undefined` when it can, or nothing is known to be wrong.
   * @param what - what cannot be done, for the error
   */
  outage(key: string, what: string): ConnectionError | undefined;

  /** What must be equal for two keys to be in one command: the slot on a cluster, nothing otherwise. */
  slotOf(key: string): number;

  /** Counted up each time a connection is lost. */
  readonly connectionNumber: number;

  /**
   * Whether a client that drains waits for commands: those that are sent and unanswered, and those not sent yet by which
   * a caller gives something back. Not those of a caller who knows the outcome already.
   */
  readonly busy: boolean;

  /**
   * The client begins to drain: rejects the attempts of acquisitions that are not sent and may not begin any more.
   */
  drain?(): void;

  /** Called after each reply, before its caller goes on. */
  onReply: (() => void) | undefined;

  /**
   * Called when a script was run but its user may not publish.
   * @param what - it did, e.g. `release permits of semaphore 'a'`
   */
  onUnheard: ((what: string) => void) | undefined;

  /**
   * Called when another connection or another server serves some keys: what Redis had for them may be gone. What is
   * sent then goes there.
   * @param concerns - whether that is so for a key
   */
  onReplaced?: ((concerns: (key: string) => boolean) => void) | undefined;

  /** Resolves in a later turn of the event loop: what waits in the sockets is read before. */
  laterTurn(): Promise<void>;

  /**
   * Rejects what is under way, and from now on everything, with ShutdownError. Whoever gets it may take back what
   * they left behind, with a cleanup record and within this turn of the event loop, and those with
   * {@link RunOptions.late} when the answer comes, which it waits for within limits; then it closes the connections.
   */
  close(): Promise<void>;
}
