/** What a link reports to its executor. */
export interface LinkEvents {
  /** Commands that could not be sent can be now: all of them, or some. */
  ready(): void;
  /** A connection was lost, or another server took over: what was sent and not answered is in doubt. */
  lost(): void;
  /**
   * Another connection, or another server, serves some keys from now on: what Redis had for them may be gone.
   * @param concerns - whether that is so for a key
   */
  replaced?(concerns: (key: string) => boolean): void;
  /** The servers refuse us whatever we ask: password, database, certificate. */
  refused(error: Error): void;
}

/** The arguments of a command. */
export type CommandArgs = (string | number | Buffer)[];

/** How many replicas have a write. The link fills it in before it hands out the reply. */
export interface ReplicaAck {
  /** Replicas that confirmed; an error when nobody knows; `undefined` where none was asked. */
  acked: number | Error | undefined;
}

/** The way to the servers: one connection, or a cluster's. It routes and reports, and repeats nothing by itself. */
export interface Link {
  events: LinkEvents | undefined;
  /** Whether a command can be sent now. @param key - decides the node on a cluster */
  canSend(key: string | undefined): boolean;
  /** Whether every command can be sent now. */
  readonly ready: boolean;
  /** Why no server lets us in, while none does. */
  readonly refusal: Error | undefined;
  /** Why there is no connection, if that is known. */
  readonly lastError: Error | undefined;
  /** Where it leads, for errors; without credentials. */
  readonly address: string;
  /** `SPUBLISH` on a cluster with sharded pub/sub, else `PUBLISH`. Known once anything can be sent. */
  readonly publishCommand: 'PUBLISH' | 'SPUBLISH';
  /** How much longer than usual a reply may take since replicas may be asked, in ms. */
  readonly syncTimeout: number;
  /**
   * Sends a command, in the context of whoever calls: that is whose span it belongs to.
   * @param args - the command's from then on: numbers among them become text
   * @param key - decides the node on a cluster
   * @param replicaAck - given when replicas shall confirm the command, where there are any
   * @param alone - no other command is under way, so that there is none to write it with
   * @returns the reply; rejects with ioredis' errors, or with those of `replyErrors.ts`
   */
  send(
    command: string,
    args: CommandArgs,
    key: string | undefined,
    replicaAck: ReplicaAck | undefined,
    alone: boolean,
  ): Promise<unknown>;
  /** See {@link CommandExecutor.slotOf}. @default 0 for each */
  slotOf?(key: string): number;
  /** The server that serves a key: the same text for all keys of one. @default one serves all */
  serverOf?(key: string | undefined): string;
  /** A command was not answered in time. @param sentAt - monotonic time at which it was sent */
  unanswered(key: string | undefined, sentAt: number): void;
  /** The connection of a key is of no use any more: its server answered READONLY, or not what it was asked. */
  giveUp?(key: string | undefined): void;
  /** See {@link CommandExecutor.laterTurn}, where there are no sockets. */
  laterTurn?(): Promise<void>;
  /** Closes for good. */
  close(): Promise<void>;
}
