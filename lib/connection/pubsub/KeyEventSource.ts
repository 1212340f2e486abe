import type { Subscriber } from './Subscriber';

/** Where the server publishes the events about keys. */
export interface KeyEventSource {
  /** The number of the database. */
  readonly database: number;
  /** Opens connections that listen to classic channels of every server that has keys. Close what it gives. */
  open(): Subscriber;
}
