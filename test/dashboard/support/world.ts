import * as http from 'node:http';
import { Redisson } from '../../../lib';
import { type Dashboard, dashboardOn } from '../../../lib/operators/dashboard/createDashboard';
import { checkOptions, type DashboardOptions } from '../../../lib/operators/dashboard/options';
import { redisUrl, sleepUntil, trackClient } from '../../support';
import type { FakeSource } from './FakeSource';
import { listen } from './listen';

/** A client of the shared server. */
export function client(): Redisson {
  return trackClient(Redisson.create(redisUrl()));
}

/** A dashboard of made-up locks. */
export function dashboardOf(source: FakeSource, options: Partial<DashboardOptions> = {}): Dashboard {
  const all = { redisson: options.redisson ?? client(), ...options };
  return trackClient(dashboardOn(source, all, checkOptions(all)));
}

/** Serves requests until the test is over. @returns the address, without a slash at its end */
export async function serve(listener: http.RequestListener): Promise<string> {
  const { base, close } = await listen(listener);
  trackClient({ stop: close });
  return base;
}

/** A request as it is: `fetch` mends paths and sets headers. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: http.OutgoingHttpHeaders; body?: string } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const path = url.slice(`http://${hostname}:${port}`.length) || '/';
    const request = http.request({ hostname, port, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A message of a stream. */
export interface Message {
  readonly event: string;
  readonly data: Record<string, unknown>;
  readonly bytes: number;
}

/** An open page, as the server sees it. */
export class Reader {
  readonly messages: Message[] = [];
  ended = false;
  status = 0;
  readonly request: http.ClientRequest;
  #rest = '';

  constructor(url: string, headers: http.OutgoingHttpHeaders = {}) {
    this.request = http.get(url, { agent: false, headers }, (response) => {
      this.status = response.statusCode!;
      response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
      response.once('close', () => (this.ended = true));
      response.on('error', () => undefined);
    });
    this.request.on('error', () => (this.ended = true));
    trackClient({ stop: () => this.request.destroy() });
  }

  /** Waits for a message. */
  async next(event: string, test: (data: never) => boolean = () => true): Promise<Message> {
    return sleepUntil(() => this.messages.find((one) => one.event === event && test(one.data as never)), {
      message: `a message ${event} in ${JSON.stringify(this.messages).slice(0, 2_000)}`,
    });
  }

  #read(text: string): void {
    const parts = (this.#rest + text).split('\n\n');
    this.#rest = parts.pop()!;
    for (const part of parts) {
      const lines = part.split('\n');
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7);
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
      if (event === undefined || data === undefined) continue;
      if (lines.length !== 2) throw new Error(`a message of more than two lines: ${part}`);
      this.messages.push({ event, data: JSON.parse(data) as Record<string, unknown>, bytes: part.length });
    }
  }
}

/** The headers of a change from a page of the dashboard's own. */
export async function changeHeaders(base: string): Promise<Record<string, string>> {
  const { token } = JSON.parse((await ask(`${base}/api/session`)).text) as { token: string };
  return {
    origin: base.replace(/^(http:\/\/[^/]+).*/, '$1'),
    'content-type': 'application/json',
    'x-ioredisson-token': token,
  };
}
