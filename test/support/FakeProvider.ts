import { once } from 'node:events';
import * as net from 'node:net';
import * as tls from 'node:tls';
import { slotOf } from '../../lib/util/names';
import { type ProviderProfile, refusalOf } from './providers';
import { RespFrames } from './respFrames';

/** A refusal in the server's own order of replies: a script that answers with it. */
const REFUSE = 'return redis.error_reply(ARGV[1])';
/** One node that has every slot. */
const ONE_NODE = 'return {{0, 16383, {ARGV[1], tonumber(ARGV[2]), "virtual"}}}';
/** SCAN with cursors of 20 digits, that is above 2^63: a one, and the server's cursor. */
const SCAN = `
local cursor = #ARGV[1] == 20 and string.gsub(string.sub(ARGV[1], 2), '^0+', '') or ARGV[1]
local reply = redis.call('scan', cursor, unpack(ARGV, 2))
if reply[1] ~= '0' then reply[1] = '1' .. string.rep('0', 19 - #reply[1]) .. reply[1] end
return reply`;

/**
 * A proxy before a real server that behaves as a managed service is documented to: it refuses commands in its words, is
 * a cluster of one virtual node, and cuts connections that are silent. What it answers itself it has the server answer,
 * by a script, so that replies come in order.
 */
export class FakeProvider {
  readonly host = '127.0.0.1';
  readonly profile: ProviderProfile;
  readonly #target: URL;
  readonly #sockets = new Set<net.Socket>();
  /** Connections to what was behind the endpoint before. */
  readonly #swapped = new WeakSet<net.Socket>();
  /** Connections that look open, and lead nowhere any more. */
  readonly #forgotten = new WeakSet<net.Socket>();
  /** What each connection listens to, where that is limited. */
  readonly #channels = new WeakMap<net.Socket, Set<string>>();
  #listener: net.Server | undefined;
  /** How many connections were cut since they were silent. */
  idleCuts = 0;
  /** How many commands were sent in a circle: `MOVED` to where they came from. */
  circles = 0;
  /** How many cursors above 2^63 came back. */
  hugeCursors = 0;

  private constructor(profile: ProviderProfile, target: URL) {
    this.profile = profile;
    this.#target = target;
  }

  /**
   * @param targetUrl - of a server without password and TLS, and no cluster
   * @param secure - it speaks TLS, with this certificate
   */
  static async start(
    profile: ProviderProfile,
    targetUrl: string,
    secure?: { readonly cert: string; readonly key: string },
  ): Promise<FakeProvider> {
    const provider = new FakeProvider(profile, new URL(targetUrl));
    const accept = (client: net.Socket): void => provider.#accept(client);
    const listener = secure === undefined ? net.createServer(accept) : tls.createServer(secure, accept);
    provider.#listener = listener;
    listener.listen(0, provider.host);
    await once(listener, 'listening');
    return provider;
  }

  get port(): number {
    return (this.#listener!.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /**
   * Replaces what is behind the endpoint: connections of before are told to go to the endpoint, that is to themselves.
   */
  swap(): void {
    for (const socket of this.#sockets) this.#swapped.add(socket);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener?.close();
    await once(this.#listener!, 'close');
  }

  #accept(client: net.Socket): void {
    const server = net.connect(Number(this.#target.port), this.#target.hostname);
    const frames = new RespFrames();
    this.#sockets.add(client);
    client.on('data', (chunk: Buffer) => {
      if (this.#forgotten.has(client)) return;
      for (const frame of frames.push(chunk)) {
        if (!this.#isOneChannelTooMany(frame, client)) server.write(this.#rewrite(frame, client));
      }
    });
    server.on('data', (chunk: Buffer) => this.#forgotten.has(client) || client.write(chunk));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(client);
        other.destroy();
      });
    }
    const { idle } = this.profile;
    if (idle === undefined) return;
    client.setTimeout(idle.ms, () => {
      if (this.#forgotten.has(client)) return;
      this.idleCuts++;
      if (idle.silently) this.#forgotten.add(client);
      else client.destroy();
    });
  }

  /** A connection that listens takes no script, so the proxy answers itself. */
  #isOneChannelTooMany(frame: Buffer, client: net.Socket): boolean {
    const { channels: limit } = this.profile;
    const [command = '', ...channels] = limit === undefined ? [] : wordsOf(frame);
    if (!/^s?(un)?subscribe$/i.test(command)) return false;
    const open = this.#channels.get(client) ?? new Set();
    this.#channels.set(client, open);
    if (/un/i.test(command)) {
      for (const channel of channels) open.delete(channel);
      return false;
    }
    if (open.size + channels.length > limit!.most) {
      client.write(`-${limit!.says}\r\n`);
      return true;
    }
    for (const channel of channels) open.add(channel);
    return false;
  }

  #rewrite(frame: Buffer, client: net.Socket): Buffer {
    const words = wordsOf(frame);
    const command = (words[0] ?? '').toLowerCase();
    const subcommand = (words[1] ?? '').toLowerCase();
    if (this.#swapped.has(client) && /^eval(sha)?$/.test(command) && words[3] !== undefined) {
      this.circles++;
      return evalOf(REFUSE, `MOVED ${slotOf(words[3])} ${this.host}:${this.port}`);
    }
    const refusal = refusalOf(this.profile, words);
    if (refusal !== undefined) return evalOf(REFUSE, refusal);
    if (command === 'scan' && this.profile.hugeCursors !== undefined) {
      if (words[1]!.length === 20) this.hugeCursors++;
      return evalOf(SCAN, ...words.slice(1));
    }
    if (command !== 'cluster') return frame;
    if (this.profile.virtualCluster === undefined)
      return evalOf(REFUSE, 'ERR This instance has cluster support disabled');
    if (subcommand === 'slots') return evalOf(ONE_NODE, this.host, String(this.port));
    return evalOf(REFUSE, `ERR unknown subcommand '${subcommand}'`);
  }
}

/** The words of a command. */
function wordsOf(frame: Buffer): string[] {
  const words: string[] = [];
  let at = frame.indexOf('\r\n') + 2;
  while (at > 1 && at < frame.length) {
    const end = frame.indexOf('\r\n', at);
    const size = Number(frame.toString('latin1', at + 1, end));
    words.push(frame.toString('utf8', end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return words;
}

function evalOf(lua: string, ...args: string[]): Buffer {
  const words = ['EVAL', lua, '0', ...args];
  const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${bulks.join('')}`);
}
