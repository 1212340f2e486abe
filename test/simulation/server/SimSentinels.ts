import type { Loop } from '../engine/Loop';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import { SimServer } from './SimServer';

const PORT = 26379;
const DATA_PORT = '6379';

/** A sentinel, and where it believes each master to be. */
interface Sentinel {
  readonly server: SimServer;
  readonly masters: Map<string, string>;
}

/** Sentinels that watch servers. What happens, each of them learns at a time of its own. */
export class SimSentinels {
  readonly #loop: Loop;
  readonly #sentinels: readonly Sentinel[];
  readonly #masters: readonly SimServer[];
  /** Masters that others have replaced, by their addresses. */
  readonly #former = new Map<string, SimServer>();
  /** Where nobody listens. */
  readonly #nobody: SimServer;

  constructor(loop: Loop, masters: readonly SimServer[], count: number) {
    this.#loop = loop;
    this.#masters = masters;
    this.#nobody = new SimServer(loop, 'nobody');
    this.#nobody.restart(Infinity, false);
    this.#sentinels = Array.from({ length: count }, (_, i) => {
      const sentinel = {
        server: new SimServer(loop, `s${i}`),
        masters: new Map(masters.map(({ name, address }) => [name, address])),
      };
      sentinel.server.sentinel = (args) => this.#answer(sentinel, args);
      return sentinel;
    });
  }

  /** Their addresses. */
  get addresses(): string[] {
    return this.#sentinels.map(({ server }) => `redis://${server.name}:${PORT}`);
  }

  /** The sentinels as servers. */
  get servers(): SimServer[] {
    return this.#sentinels.map(({ server }) => server);
  }

  /** Who listens at an address. */
  at(host: string): SimServer {
    return (
      this.servers.find(({ name }) => name === host) ??
      this.#masters.find(({ address }) => address === host) ??
      this.#former.get(host) ??
      this.#nobody
    );
  }

  /** A master that was replaced is there again at its address. */
  keep(former: SimServer): void {
    this.#former.set(former.address, former);
  }

  /** Each sentinel learns where a master is now. @param delays - when, in ms, one for each */
  announce({ name, address }: SimServer, delays: readonly number[]): void {
    this.#sentinels.forEach(({ server, masters }, i) => {
      this.#loop.after(delays[i]!, () => {
        this.#loop.note(`${server.name} learns that ${name} is at ${address}`);
        const before = masters.get(name);
        masters.set(name, address);
        server.hear('+switch-master', `${name} ${before} ${DATA_PORT} ${address} ${DATA_PORT}`);
      });
    });
  }

  #answer({ masters }: Sentinel, [what = '', name = '']: readonly string[]): Reply {
    const address = masters.get(name);
    switch (what.toLowerCase()) {
      case 'get-master-addr-by-name':
        return address === undefined ? null : [address, DATA_PORT];
      case 'sentinels':
        return this.servers.map(({ name: host }) => [
          'name',
          host,
          'ip',
          host,
          'port',
          String(PORT),
          'flags',
          'sentinel',
        ]);
      default:
        return new RedisError(`ERR Unknown sentinel subcommand '${what}'`);
    }
  }
}
