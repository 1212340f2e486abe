import type { ServerResponse } from 'node:http';
import type { StreamMessages } from './wire';

/** A reader that leaves more than this unread is dropped, in bytes: it comes back and begins anew. */
const MAX_UNREAD = 4 * 1024 * 1024;
/** What a browser waits before it comes back, in ms. */
const RETRY_MS = 2_000;

/** A message as it is on the wire. JSON has no line breaks, so nobody's name can forge a message. */
export function encode<K extends keyof StreamMessages>(event: K, data: StreamMessages[K]): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** One open page: a response that goes on until either side ends it. */
export class EventStream {
  readonly #response: ServerResponse;

  /** @param onEnd - called once, however it ends */
  constructor(response: ServerResponse, onEnd: () => void) {
    this.#response = response;
    response.on('error', () => undefined);
    response.once('close', onEnd);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
    response.write(`retry: ${RETRY_MS}\n\n`);
  }

  /** Sends what {@link encode} has made. */
  send(message: string): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > MAX_UNREAD) {
      response.destroy();
      return;
    }
    response.write(message);
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }
}
