import { Redis } from 'ioredis';

/** The processor time that Redis has used, read by a connection of its own. */
export class ServerCpu {
  readonly #redis: Redis;

  /** Connects at the first {@link read}. */
  constructor(url: string) {
    this.#redis = new Redis(url, { lazyConnect: true });
  }

  /** Resolves to the processor time since the start of the server, in microseconds. */
  async read(): Promise<number> {
    const info = await this.#redis.info('cpu');
    const seconds = (field: string): number => Number(new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1] ?? NaN);
    return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
  }

  /** Ends the connection. */
  close(): void {
    this.#redis.disconnect();
  }
}
