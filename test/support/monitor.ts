import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { sleepUntil } from './sleepUntil';

/** One command a server has executed. */
export interface SeenCommand {
  /** Lower case. */
  readonly name: string;
  /** With the name as it was sent. */
  readonly args: readonly string[];
  /** `address:port` of the client; `lua` when a script did it. */
  readonly source: string;
  readonly database: string;
  /** When the server executed it, in epoch ms. */
  readonly at: number;
  /** Whether a script executed it, and no client sent it. */
  readonly fromScript: boolean;
}

/** Records by MONITOR what a server receives, in its order. */
export class Monitor {
  readonly #seen: SeenCommand[] = [];
  readonly #ticker: Redis;
  readonly #recorder: Redis;

  private constructor(ticker: Redis, recorder: Redis, filter: (command: SeenCommand) => boolean) {
    this.#ticker = ticker;
    this.#recorder = recorder;
    recorder.on('monitor', (time: string, args: string[], source: string, database: string) => {
      const name = (args[0] ?? '').toLowerCase();
      const command = { name, args, source, database, at: Number(time) * 1_000, fromScript: source === 'lua' };
      if (filter(command) || isMarker(command)) this.#seen.push(command);
    });
  }

  /** Used by {@link monitor}. */
  static async start(url: string, filter: (command: SeenCommand) => boolean): Promise<Monitor> {
    const ticker = new Redis(url, { connectionName: 'monitor' });
    const recorder = new Redis(url, { connectionName: 'monitor', lazyConnect: true, retryStrategy: null });
    ticker.on('error', () => undefined);
    recorder.on('error', () => undefined);
    const started = new Monitor(ticker, recorder, filter);
    await recorder.connect();
    const answer = recorder.call('monitor');
    // ioredis' own monitor() sets this when it has read the answer, and fails on lines that come in one piece with it.
    recorder.status = 'monitoring' as typeof recorder.status;
    await answer;
    return started;
  }

  /** Everything executed until now, those inside scripts too. */
  async commands(): Promise<SeenCommand[]> {
    // MONITOR reports in the order of execution: once our marker has come, so has everything before it.
    const marker = MARKER + randomBytes(8).toString('hex');
    await this.#ticker.echo(marker);
    await sleepUntil(() => this.#seen.some((command) => command.args[1] === marker), { message: 'MONITOR is behind' });
    return this.#seen.filter((command) => !isMarker(command));
  }

  /** Only what clients sent: not what scripts executed. */
  async sent(): Promise<SeenCommand[]> {
    return (await this.commands()).filter((command) => !command.fromScript);
  }

  /** The names of {@link sent}, in order. */
  async sentNames(): Promise<string[]> {
    return (await this.sent()).map((command) => command.name);
  }

  /** Forgets everything executed until now. */
  async clear(): Promise<void> {
    await this.commands();
    this.#seen.length = 0;
  }

  /** Closes both connections. Idempotent. */
  stop(): void {
    this.#recorder.disconnect();
    this.#ticker.disconnect();
  }
}

const MARKER = 'ioredisson-monitor-marker-';

function isMarker(command: SeenCommand): boolean {
  return command.name === 'echo' && (command.args[1]?.startsWith(MARKER) ?? false);
}

/**
 * Starts recording what the server receives: `const seen = trackClient(await monitor(redisUrl()))`.
 * `filter` keeps what it likes; by default everything but the chatter of connecting clients and of the test support.
 */
export function monitor(url: string, filter: (command: SeenCommand) => boolean = notChatter): Promise<Monitor> {
  return Monitor.start(url, filter);
}

/** What every client says when it connects, and what the leak check asks. */
const CHATTER = new Set(['info', 'client', 'hello', 'auth', 'select', 'monitor', 'ping', 'quit', 'pubsub', 'scan']);

function notChatter(command: SeenCommand): boolean {
  return command.fromScript || !CHATTER.has(command.name);
}
