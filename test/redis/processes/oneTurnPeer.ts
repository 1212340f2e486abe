import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

// What the Java client does for a plain lock, in as few lines: its scripts, its channel, one turn at a time. Each
// thread tries, waits for a message (one message wakes one of the threads that wait), and tries again.

const ACQUIRE = `
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`;

const RELEASE = `
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1`;

/** A process that takes a plain lock one turn at a time, and never hands it on. */
export class OneTurnPeer {
  readonly #id = randomUUID();
  readonly #name: string;
  readonly #commands: Redis;
  readonly #messages: Redis;
  readonly #sleepers: (() => void)[] = [];
  /** Messages that nobody slept for. */
  #permits = 0;
  #over = false;
  turns = 0;

  constructor(url: string, name: string) {
    this.#name = name;
    this.#commands = new Redis(url);
    this.#messages = new Redis(url);
    this.#messages.on('message', () => this.#message());
  }

  /** Starts its threads. @returns when they have ended */
  async run(threads: number): Promise<void> {
    await this.#messages.subscribe(`redisson_lock__channel:{${this.#name}}`);
    await Promise.all(Array.from({ length: threads }, (_, thread) => this.#loop(`${this.#id}:${thread}`)));
  }

  /** Every thread ends with its next turn. */
  stop(): void {
    this.#over = true;
  }

  async close(): Promise<void> {
    this.#messages.disconnect();
    await this.#commands.quit();
  }

  async #loop(owner: string): Promise<void> {
    const channel = `redisson_lock__channel:{${this.#name}}`;
    while (!this.#over) {
      for (;;) {
        const ttl = await this.#commands.eval(ACQUIRE, 1, this.#name, 30_000, owner);
        if (ttl === null) break;
        if (this.#permits > 0) this.#permits--;
        else await new Promise<void>((resolve) => this.#sleepers.push(resolve));
      }
      this.turns++;
      await this.#commands.eval(RELEASE, 2, this.#name, channel, '0', owner);
    }
  }

  #message(): void {
    const sleeper = this.#sleepers.shift();
    if (sleeper === undefined) this.#permits = 1;
    else sleeper();
  }
}
