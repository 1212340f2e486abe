import * as net from 'node:net';
import { monotonicMs } from '../harness/clock';

// A process that stands between the workers and Redis and makes Redis seem further away. Each chunk of bytes is passed
// on half the distance later, in both directions. Nothing waits for anything else, so the throughput stays: it is the
// length of the line that grows, not its width.

interface Parcel {
  readonly due: number;
  readonly deliver: () => void;
}

/** Node's timers are exact to 1 ms only. So while bytes are under way the process sleeps in slices of this length, ms. */
const SLICE_MS = 0.05;
const bell = new Int32Array(new SharedArrayBuffer(4));

class Line {
  readonly #delayMs: number;
  #parcels: Parcel[] = [];
  #first = 0;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  send(deliver: () => void): void {
    const isIdle = this.#first === this.#parcels.length;
    this.#parcels.push({ due: monotonicMs() + this.#delayMs, deliver });
    if (isIdle) setImmediate(this.#pass);
  }

  // Every parcel is delayed alike, so they are due in the order in which they came.
  readonly #pass = (): void => {
    const now = monotonicMs();
    for (let next = this.#parcels[this.#first]; next && next.due <= now; next = this.#parcels[this.#first]) {
      this.#first += 1;
      next.deliver();
    }
    const next = this.#parcels[this.#first];
    if (next === undefined) {
      this.#parcels = [];
      this.#first = 0;
      return;
    }
    if (this.#first > 10_000) {
      this.#parcels = this.#parcels.slice(this.#first);
      this.#first = 0;
    }
    Atomics.wait(bell, 0, 0, Math.min(SLICE_MS, next.due - now));
    setImmediate(this.#pass);
  };
}

function join(from: net.Socket, to: net.Socket, line: Line): void {
  from.setNoDelay(true);
  from.on('data', (chunk) => line.send(() => void (to.writable && to.write(chunk))));
  from.on('end', () => line.send(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => line.send(() => to.destroy()));
}

const [distance = '', host = '', port = ''] = process.argv.slice(2);
const line = new Line(Number(distance) / 2);
const server = net.createServer((client) => {
  const redis = net.connect(Number(port), host);
  join(client, redis, line);
  join(redis, client, line);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as net.AddressInfo).port));
process.on('disconnect', () => process.exit(0));
