/** What the processes of the example share. */
export const QUEUE = 'invoices';

/** A job. */
export interface Invoice {
  readonly customer: string;
  readonly number: number;
}

/** What a worker tells `main.ts`. */
export interface Report extends Invoice {
  readonly event: 'begin' | 'end';
  /** How many jobs of the customer are under the lock then, counted in Redis: 1, and 0 at the end. */
  readonly inside: number;
}

/** How BullMQ connects. */
export function connection(url = process.env['REDIS_URL']!): {
  host: string;
  port: number;
  maxRetriesPerRequest: null;
} {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null };
}
