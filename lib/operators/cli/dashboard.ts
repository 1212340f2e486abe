import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, isIP, isIPv4 } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { given, inTime } from '../doctor';
import { createDashboard, type DashboardOptions } from '../dashboard';
import { Redisson } from '../../index';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, Failure, untilSignal } from './exit';
import { CLEANUP_MS, print, say } from './output';

/** The options of `dashboard`. */
export interface DashboardCommandOptions extends ClientOptions {
  readonly host: string;
  readonly port: number;
  readonly allowUnlock?: true;
  readonly label?: string;
  readonly color?: DashboardOptions['color'];
  readonly expectWaits?: readonly string[];
}

/** Time limit for receiving a complete request, in ms. */
const REQUEST_MS = 30_000;
/** Maximum number of connections: open pages, and their other requests. */
const MAX_CONNECTIONS = 2_500;

/** `ioredisson dashboard`: serves the page until a signal ends it. @returns the exit code */
export async function dashboard(options: DashboardCommandOptions): Promise<number> {
  const { host, port, allowUnlock = false, label, color, expectWaits = [] } = options;
  const client = Redisson.create(await readClientOptions(options));
  const handler = createDashboard({
    redisson: client,
    readOnly: !allowUnlock,
    watchAlways: true,
    expectedWaits: expectWaits,
    ...given({ label, color }),
    ...(isIP(host) === 0 && { hosts: [host, ...ownNames()] }),
    audit: ({
      action,
      name,
      kind,
      released,
      changed,
      error,
      remoteAddress = 'unknown',
      holders,
      permits,
      permitId,
    }) => {
      const about = `${action === 'forceUnlock' ? 'unlock' : action} '${name}' (${kind}) from ${remoteAddress}`;
      if (action !== 'forceUnlock') {
        const what = error === undefined ? (changed === true ? 'done' : 'nothing to do') : `failed: ${error}`;
        const which = permits === undefined ? permitId : String(permits);
        return say(`${about}: ${what}${which === undefined ? '' : `; permits: ${which}`}`);
      }
      const what = error === undefined ? (released === true ? 'released' : 'not held') : `failed: ${error}`;
      return say(`${about}: ${what}; holders: ${holders.join(', ') || 'none'}`);
    },
  });
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (req, res) => {
    if (isOurName(req, host)) return handler(req, res);
    res.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    res.end('403 This server is not known by that name. Use its address, or start it with --host and that name.\n');
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    return await untilSignal(async ({ signal }) => {
      const ended = once(signal, 'abort');
      // Rejects if the server emits an error first.
      await once(server.listen(port, host), 'listening').catch((error: Error) => {
        throw new Failure(`cannot serve on ${host}:${port}: ${error.message}`, ExitCode.usage, { cause: error });
      });
      const address = server.address() as AddressInfo;
      const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      await print(`http://${shown}:${address.port}/\n`);
      if (!isLoopback(address.address)) {
        const may = allowUnlock ? 'see and release all locks' : 'see all locks';
        say(`warning: whoever reaches ${shown}:${address.port} can ${may}: there is no login`);
      }
      await ended;
    });
  } finally {
    server.close();
    await inTime(handler.close(), CLEANUP_MS);
    server.closeAllConnections();
    await inTime(client.shutdown(), CLEANUP_MS);
  }
}

/** The names and addresses of this machine. */
function ownNames(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  return ['localhost', hostname(), ...addresses.map((one) => (isIPv4(one) ? one : `[${one}]`))];
}

/**
 * Whether the Host header names this server by an address or by its own name. With DNS rebinding, the name of another
 * site leads to this server, and for the browser that site's page has the same origin as ours.
 */
function isOurName({ headers }: IncomingMessage, host: string): boolean {
  const named = (headers.host ?? '').toLowerCase().replace(/:\d+$/, '');
  const bare = named.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) !== 0 || [host.toLowerCase(), 'localhost', hostname().toLowerCase()].includes(bare);
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}
