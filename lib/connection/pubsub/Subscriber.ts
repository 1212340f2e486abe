import { UnsupportedOperationError } from '../../errors';

/** What a subscriber reports to its owner. */
export interface SubscriberEvents {
  /** A message came. */
  message(channel: string, message: string): void;
  /** Messages may be lost from now on: a connection is gone. */
  interrupted(): void;
  /** Channels are subscribed again; what was published meanwhile is lost. */
  restored(): void;
}

/** Connections that listen. They subscribe again by themselves after a reconnect. */
export interface Subscriber {
  /** Receives its events; set once, before the first subscription. */
  events: SubscriberEvents | undefined;
  /**
   * Whether the number that PUBLISH answers is that of all who listen. A cluster with classic pub/sub counts those of
   * one node, wherever the others are.
   */
  readonly countsReceivers: boolean;
  /** Resolves when the server has acknowledged, however long the connection takes. Rejects when closed or refused. */
  subscribe(channel: string): Promise<void>;
  /** Forgets the channel; errors are swallowed, since nothing listens any more. */
  unsubscribe(channel: string): void;
  /** How many listen to a channel on all nodes, where PUBLISH does not say so; `undefined`: that cannot be known. */
  countListeners?(channel: string): Promise<number | undefined>;
  /** Finds out whether the servers are still there: something else seems to be wrong. */
  probe(): void;
  /** Closes the connections. */
  close(): void;
}

/** Where the server publishes the events about keys. */
export interface KeyEventSource {
  /** The number of the database. */
  readonly database: number;
  /** Opens connections that listen to classic channels of every server that has keys. Close what it gives. */
  open(): Subscriber;
}

/** For those who never listen. */
export const NO_SUBSCRIBER: Subscriber = {
  events: undefined,
  countsReceivers: false,
  subscribe: () => Promise.reject(new UnsupportedOperationError('connection', 'subscribe', 'it is for commands only')),
  unsubscribe: () => undefined,
  probe: () => undefined,
  close: () => undefined,
};
