/** What a subscriber tells its owner. */
export interface SubscriberEvents {
  /** A message came. */
  message(channel: string, message: string): void;
  /** Messages may be lost from now on: the connection is gone. */
  interrupted(): void;
  /** All channels are subscribed again; what was published meanwhile is lost. */
  restored(): void;
}

/** A connection that listens. It subscribes again by itself after a reconnect. */
export interface Subscriber {
  /** Who is told; set once, before the first subscription. */
  events: SubscriberEvents | undefined;
  /** Resolves when the server has acknowledged, however long the connection takes. Rejects when closed. */
  subscribe(channel: string): Promise<void>;
  /** Forgets the channel; errors are swallowed, since nothing listens any more. */
  unsubscribe(channel: string): void;
  /** Closes the connection. */
  close(): void;
}
