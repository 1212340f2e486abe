/** For which connection credentials are asked. */
export interface CredentialsRequest {
  /** The name or the IP address of the server; of a master that sentinels named, its IP address. */
  readonly host: string;
  readonly port: number;
  /** What the server is, as far as that is known before it was asked: a server of a cluster may have failed over. */
  readonly role: 'master' | 'slave' | 'sentinel';
}

/** What a {@link CredentialsFunction} returns. */
export interface IssuedCredentials {
  /** @default none: the password is that of Redis' `default` user */
  readonly username?: string | undefined;
  /** The password or token; not empty. */
  readonly password: string;
  /**
   * For how long they are valid, in ms. They are asked for again when four fifths of it are over.
   * @default for as long as the connection lives
   */
  readonly expiresIn?: number | undefined;
}

/**
 * Gives the credentials of one connection. It is asked for each attempt to connect, and again before `expiresIn` is
 * over. What it rejects with is the message of the `ConnectionError` of the calls that wait; it is asked again after a
 * pause.
 */
export type CredentialsFunction = (request: CredentialsRequest) => IssuedCredentials | Promise<IssuedCredentials>;

/** Credentials as node-redis has them. */
export interface BasicAuth {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Receives new credentials. */
export interface StreamingCredentialsListener {
  /** There are new ones: live connections are authenticated anew. */
  readonly onNext: (credentials: BasicAuth) => void;
  /** The provider has given up: it is subscribed to anew. */
  readonly onError: (error: Error) => void;
}

/**
 * Reports new credentials by itself. The shape is that of node-redis, so that the providers of `@redis/entraid` fit.
 *
 * Source: `StreamingCredentialsProvider` of `@redis/client`.
 */
export interface StreamingCredentialsProvider {
  /**
   * @returns the credentials of now, and what ends the subscription; a client has one, from its first connection to its
   *   shutdown
   */
  readonly subscribe: (
    listener: StreamingCredentialsListener,
  ) => Promise<readonly [credentials: BasicAuth, subscription: { dispose(): void }]>;
  /** Called when a server has refused the credentials, or when none were to be had. */
  readonly onReAuthenticationError?: ((error: Error) => void) | undefined;
}

/** Where user and password come from, when they change while the client lives. */
export type Credentials = CredentialsFunction | StreamingCredentialsProvider;
