import type { Redis } from 'ioredis';

/**
 * Gives up a connection that opens and then says nothing: a process that is stopped still has a kernel that accepts.
 * ioredis would wait for it for ever, while another server may long have taken over.
 */
export class HandshakeGuard {
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs - how long a connection may take from being open to being of use, in ms */
  constructor(redis: Redis, limitMs: number) {
    redis.on('connect', () => {
      this.done();
      this.#timer = setTimeout(() => redis.disconnect(true), limitMs);
      this.#timer.unref();
    });
    redis.on('close', () => this.done());
  }

  /** It is of use. */
  done(): void {
    clearTimeout(this.#timer);
  }
}
