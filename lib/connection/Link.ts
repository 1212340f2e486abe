import type { Redis } from 'ioredis';

/** What a link tells its executor. */
export interface LinkEvents {
  /** Commands can be written. */
  ready(): void;
  /** A connection was lost; what was written to it and not answered is in doubt. */
  lost(): void;
}

/** The way to the servers: one connection, or a cluster's. It routes and reports, and repeats nothing by itself. */
export interface Link {
  events: LinkEvents | undefined;
  /** Whether a command can be written now. */
  readonly ready: boolean;
  /** Why there is no connection, if that is known. */
  readonly lastError: Error | undefined;
  /** Where it leads, for errors; without credentials. */
  readonly address: string;
  /** `SPUBLISH` on a cluster with sharded pub/sub, else `PUBLISH`. */
  readonly publishCommand: 'PUBLISH' | 'SPUBLISH';
  /** Writes a command; `key` decides the node on a cluster. Rejects with ioredis' errors. */
  send(command: string, args: (string | number | Buffer)[], key: string | undefined): Promise<unknown>;
  /** See {@link CommandExecutor.slotOf}. */
  slotOf(key: string): number;
  /** Drops the connections and connects anew: they are open, but nothing comes back. */
  reconnect(): void;
  /** Closes for good. */
  close(): Promise<void>;
}

/** The part of an ioredis connection that this package uses. */
export type Connection = Redis;
