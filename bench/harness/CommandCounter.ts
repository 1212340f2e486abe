import * as net from 'node:net';

/**
 * Counts the commands this process sends to Redis, whichever client sends them: it reads along on the sockets and
 * counts the requests of the protocol (`*<n>` arrays). Redis' own counters cannot tell a command a client sent from one
 * that a script called, and every client library would need a hook of its own.
 */
export class CommandCounter {
  #sent = 0;

  /** Commands sent so far, by all sockets of the process. */
  get sent(): number {
    return this.#sent;
  }

  /** Starts counting, on every socket of the process. Call it once, before a client is loaded. */
  install(): void {
    const parsers = new WeakMap<net.Socket, RequestParser>();
    const count = (socket: net.Socket, data: unknown): void => {
      // Standard output may be a socket too; it has no peer.
      if (socket.remotePort === undefined) return;
      let parser = parsers.get(socket);
      if (parser === undefined) parsers.set(socket, (parser = new RequestParser()));
      this.#sent += parser.read(asText(data));
    };
    const write = net.Socket.prototype.write as (...args: unknown[]) => boolean;
    function countingWrite(this: net.Socket, ...args: unknown[]): boolean {
      count(this, args[0]);
      return write.apply(this, args);
    }
    net.Socket.prototype.write = countingWrite;
  }
}

function asText(data: unknown): string {
  if (typeof data === 'string') return data;
  if (!(data instanceof Uint8Array)) return '';
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
}

/** Finds the requests in what one connection writes, also when a request is spread over several writes. */
export class RequestParser {
  #rest = '';
  #argumentsLeft = 0;
  #skip = 0;

  /** Reads on; returns the number of requests that begin in `data` (which must be ASCII, as all of the bench is). */
  read(data: string): number {
    let text = this.#rest === '' ? data : this.#rest + data;
    let begun = 0;
    let at = 0;
    for (;;) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, text.length - at);
        at += step;
        this.#skip -= step;
        if (this.#skip > 0) break;
      }
      const end = text.indexOf('\r\n', at);
      if (end === -1) break;
      const length = Number(text.slice(at + 1, end));
      at = end + 2;
      if (this.#argumentsLeft === 0) {
        begun += 1;
        this.#argumentsLeft = length;
      } else {
        this.#argumentsLeft -= 1;
        this.#skip = length + 2;
      }
    }
    text = text.slice(at);
    this.#rest = text;
    return begun;
  }
}
