/** For which connection credentials are asked. */
export interface CredentialsRequest {
  /** The name or the IP address of the server; of a master that sentinels named, its IP address. */
  readonly host: string;
  readonly port: number;
  /**
   * The role of the server, as far as it is known before the server is asked: a server of a cluster may have failed
   * over.
   */
  readonly role: 'master' | 'slave' | 'sentinel';
}

/** What a {@link CredentialsFunction} returns. */
export interface IssuedCredentials {
  /** @default none: the password is that of Redis' `default` user */
  readonly username?: string | undefined;
  /** The password or token; not empty. */
  readonly password: string;
  /**
   * How long they are valid, in ms. New ones are requested when four fifths of that time are over.
   * @default for as long as the connection lives
   */
  readonly expiresIn?: number | undefined;
}

/**
 * Gives the credentials of one connection. It is called for each attempt to connect, and again before `expiresIn` is
 * over. The message of its rejection becomes that of the `ConnectionError` of the waiting calls; it is called again
 * after a pause.
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
  /** The provider has given up: the client subscribes anew. */
  readonly onError: (error: Error) => void;
}

/**
 * Reports new credentials by itself. The shape is that of node-redis, so that the providers of `@redis/entraid` fit.
 *
 * Source: `StreamingCredentialsProvider` of `@redis/client`.
 */
export interface StreamingCredentialsProvider {
  /**
   * @returns the current credentials, and the subscription, which can be disposed of; a client has one, from its
   *   first connection to its shutdown
   */
  readonly subscribe: (
    listener: StreamingCredentialsListener,
  ) => Promise<readonly [credentials: BasicAuth, subscription: { dispose(): void }]>;
  /** Called when a server has refused the credentials, or when the provider gave none. */
  readonly onReAuthenticationError?: ((error: Error) => void) | undefined;
}

/** Where user and password come from, when they change while the client lives. */
export type Credentials = CredentialsFunction | StreamingCredentialsProvider;
