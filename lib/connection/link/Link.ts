/** What a link reports to its executor. */
export interface LinkEvents {
  /** Commands can be sent that could not be sent before: all of them, or some. */
  ready(): void;
  /** A connection was lost, or another server took over: commands sent but not answered are in doubt. */
  lost(): void;
  /**
   * Another connection, or another server, serves some keys from now on: their data may be gone.
   * @param concerns - whether a key is among them
   */
  replaced?(concerns: (key: string) => boolean): void;
  /** The servers refuse every connection: password, database, certificate. */
  refused(error: Error): void;
}

/** The arguments of a command. */
export type CommandArgs = (string | number | Buffer)[];

/** How many replicas confirmed a write. The link fills it in before it returns the reply. */
export interface ReplicaAck {
  /** Replicas that confirmed; an error where the number is unknown; `undefined` where no replica was asked. */
  acked: number | Error | undefined;
}

/** The way to the servers: one connection, or those of a cluster. It routes and reports, and sends nothing twice. */
export interface Link {
  events: LinkEvents | undefined;
  /** Whether a command can be sent now. @param key - decides the node on a cluster */
  canSend(key: string | undefined): boolean;
  /** Whether every command can be sent now. */
  readonly ready: boolean;
  /** Why the servers refuse the connection, while none is usable. */
  readonly refusal: Error | undefined;
  /** Why there is no connection, if that is known. */
  readonly lastError: Error | undefined;
  /** The address, for errors; without credentials. */
  readonly address: string;
  /** `SPUBLISH` on a cluster with sharded pub/sub, else `PUBLISH`. Known as soon as a command can be sent. */
  readonly publishCommand: 'PUBLISH' | 'SPUBLISH';
  /** The additional time for a reply when replicas may be asked, in ms. */
  readonly syncTimeout: number;
  /**
   * Sends a command in the caller's context: it belongs to the caller's span.
   * @param args - owned by the command from now on: numbers among them become text
   * @param key - decides the node on a cluster
   * @param replicaAck - given when the replicas, if there are any, shall confirm the command
   * @param alone - no other command is under way that it could be written together with
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
  /** The server that serves a key: the same text for all keys of one server. @default one server for all keys */
  serverOf?(key: string | undefined): string;
  /** A command was not answered in time. @param sentAt - monotonic time at which it was sent */
  unanswered(key: string | undefined, sentAt: number): void;
  /** The connection of a key is useless: its server answered READONLY, or something unrelated to the command. */
  giveUp?(key: string | undefined): void;
  /** See {@link CommandExecutor.laterTurn}, where there are no sockets. */
  laterTurn?(): Promise<void>;
  /** Closes for good. */
  close(): Promise<void>;
}
