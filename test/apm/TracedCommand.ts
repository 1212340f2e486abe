/** A command that an agent saw. */
export interface TracedCommand {
  /** The command's name, lower case. */
  readonly name: string;
  /** The command and its arguments, as the agent shows them. */
  readonly text: string;
  /** The caller's span that it belongs to; `undefined` for nobody's. */
  readonly parent?: string;
  /** What went wrong, where something did. */
  readonly error?: string;
}

/**
 * An agent that watches a program: one of `agents/`, plain JavaScript, since they are installed on the first run only.
 */
export interface Agent {
  /** Runs `fn` in a span of its own. */
  inSpan<T>(name: string, fn: () => Promise<T>): Promise<T>;
  /** The commands that have ended. */
  commands(): Promise<readonly TracedCommand[]>;
}

/** What the program prints: of each scenario, the commands that were seen. */
export type Report = Readonly<Record<string, readonly TracedCommand[]>>;
