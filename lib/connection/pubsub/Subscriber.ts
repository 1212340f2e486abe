import { UnsupportedOperationError } from '../../errors';

/** What a subscriber reports to its owner. */
export interface SubscriberEvents {
  /** A message came. */
  message(channel: string, message: string): void;
  /** Messages may be lost from now on: a connection is gone. @param channels - of these. @default of all */
  interrupted(channels?: readonly string[]): void;
  /**
   * Channels are subscribed again; what was published meanwhile is lost. That may come without an interruption, where
   * it was short.
   * @param channels - these. @default all
   */
  restored(channels?: readonly string[]): void;
}

/** Connections for subscriptions. They subscribe again by themselves after a reconnect. */
export interface Subscriber {
  /** Receives its events; set once, before the first subscription. */
  events: SubscriberEvents | undefined;
  /**
   * Whether the number that PUBLISH returns counts all listeners. A cluster with classic pub/sub counts those of one
   * node only.
   */
  readonly countsReceivers: boolean;
  /** Resolves when the server has acknowledged, however long connecting takes. Rejects when closed or refused. */
  subscribe(channel: string): Promise<void>;
  /** Forgets the channel; errors are ignored, since it no longer has a listener. */
  unsubscribe(channel: string): void;
  /** Counts the listeners of a channel on all nodes, where PUBLISH does not; `undefined`: that cannot be known. */
  countListeners?(channel: string): Promise<number | undefined>;
  /** Checks whether the servers still answer: another connection seems dead. */
  probe(): void;
  /** Closes the connections. */
  close(): void;
}

/** Where the server publishes the events about keys. */
export interface KeyEventSource {
  /** The number of the database. */
  readonly database: number;
  /** Opens connections that listen to classic channels of every server with keys. The caller closes them. */
  open(): Subscriber;
}

/** For clients that never listen. */
export const NO_SUBSCRIBER: Subscriber = {
  events: undefined,
  countsReceivers: false,
  subscribe: () => Promise.reject(new UnsupportedOperationError('connection', 'subscribe', 'it is for commands only')),
  unsubscribe: () => undefined,
  probe: () => undefined,
  close: () => undefined,
};
