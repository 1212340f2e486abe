/** What the processes of the example share. `main.ts` makes it, and its workers inherit it. */
export const QUEUE = (process.env['EXAMPLE_QUEUE'] ??= `ioredisson-example-${process.pid}`);

/** A job. */
export interface Invoice {
  readonly customer: string;
  readonly number: number;
}

/** What a worker reports to `main.ts`. */
export interface Report extends Invoice {
  readonly event: 'begin' | 'end';
  /** How many jobs of the customer are under the lock then, counted in Redis: 1, and 0 at the end. */
  readonly inside: number;
}

/** How BullMQ connects. */
export function connection(url = process.env['REDIS_URL']!): {
  host: string;
  port: number;
  username: string;
  password: string;
  db: number;
  maxRetriesPerRequest: null;
} {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port || 6379),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    db: Number(pathname.slice(1)),
    maxRetriesPerRequest: null,
  };
}
