import { Redis } from 'ioredis';

/** The messages of every unsharded channel of a server, in the order in which they were published. */
export class MessageRecording {
  readonly #redis: Redis;
  readonly #messages: { channel: string; payload: string }[] = [];

  private constructor(url: string) {
    this.#redis = new Redis(url);
    this.#redis.on('pmessage', (_pattern: string, channel: string, payload: string) => {
      this.#messages.push({ channel, payload });
    });
  }

  static async start(url: string): Promise<MessageRecording> {
    const recording = new MessageRecording(url);
    await recording.#redis.psubscribe('*');
    return recording;
  }

  /** What has arrived so far, `channel payload` each. A PING in between makes sure that nothing is under way. */
  async messages(): Promise<string[]> {
    await this.#redis.ping();
    return this.#messages.map(({ channel, payload }) => `${channel} ${payload}`);
  }

  async stop(): Promise<void> {
    await this.#redis.quit();
  }
}
