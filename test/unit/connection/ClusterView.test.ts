import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ClusterLink } from '../../../lib/connection/cluster/ClusterLink';
import { ClusterView } from '../../../lib/connection/cluster/ClusterView';
import type { LinkEvents } from '../../../lib/connection/link/Link';
import type { StandaloneLink } from '../../../lib/connection/link/StandaloneLink';
import { Executor } from '../../../lib/connection/Executor';
import { ConfigError, ConnectionError } from '../../../lib/errors';
import { fakeClock } from '../../support';
import { reply } from './fakeLink';

const ADDRESS = { host: '127.0.0.1', port: 7000 };
/** What servers that do not know it say to PUBSUB SHARDNUMSUB: Redis 6.2, and as Redis 7 puts it. */
const UNKNOWN = [
  "ERR Unknown PUBSUB subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB HELP.",
  "ERR unknown subcommand 'SHARDNUMSUB'. Try PUBSUB HELP.",
];
/** Of those who may not ask: nothing is known then. */
const DENIED = [
  "NOPERM User 'u' has no permissions to run the 'pubsub|shardnumsub' command",
  "ERR unknown command 'PUBSUB', with args beginning with: 'SHARDNUMSUB' '0'",
];

/** The only node of a cluster; answers as it is told. */
class Node {
  events: LinkEvents | undefined;
  readonly ready = true;
  readonly address = '127.0.0.1:7000';
  readonly refusal = undefined;
  readonly lastError = undefined;
  shards: Error | undefined;

  send(command: string): Promise<unknown> {
    if (command === 'cluster') return Promise.resolve([[0, 16383, [ADDRESS.host, ADDRESS.port, 'id']]]);
    if (command !== 'pubsub') return Promise.resolve(1);
    return this.shards === undefined ? Promise.resolve(['0', 0]) : Promise.reject(this.shards);
  }

  unanswered(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }
}

describe('a node that ASK names', () => {
  const TARGET = { host: '127.0.0.1', port: 7001 };

  it('stays connected for a minute without a slot, since its first slot is on the way, and no longer', async () => {
    const clock = fakeClock();
    const closed: number[] = [];
    const view = new ClusterView({
      seeds: () => Promise.resolve([ADDRESS]),
      connect: ({ port }) => Object.assign(new Node(), { close: async () => void closed.push(port) }) as never,
      translate: (address) => address,
      scanInterval: 1_000,
      shardedSubscriptionMode: 'OFF',
    });
    await clock.tickAsync(1_000);
    const asked = view.redirect('ASK 1 127.0.0.1:7001', ADDRESS);
    expect(asked?.address).to.deep.equal(TARGET);
    await clock.tickAsync(59_000);
    expect(closed).to.deep.equal([]);
    await clock.tickAsync(3_000);
    expect(closed).to.deep.equal([TARGET.port]);
    await view.close();
    expect(closed).to.deep.equal([TARGET.port, ADDRESS.port]);
  });
});

describe('shardedSubscriptionMode', () => {
  let clock: SinonFakeTimers;
  let node: Node;
  let executor: Executor;
  let view: ClusterView;

  beforeEach(() => {
    clock = fakeClock();
    node = new Node();
  });

  afterEach(async () => {
    const closed = executor.close();
    await clock.tickAsync(1_000);
    await closed;
  });

  async function open(mode: 'AUTO' | 'ON' | 'OFF'): Promise<void> {
    view = new ClusterView({
      seeds: () => Promise.resolve([ADDRESS]),
      connect: () => node as unknown as StandaloneLink,
      translate: (address) => address,
      scanInterval: 1_000,
      shardedSubscriptionMode: mode,
    });
    const link = new ClusterLink(view, node.address, 100);
    executor = new Executor(link, { timeout: 1_000, retryAttempts: 1 } as ConstructorParameters<typeof Executor>[1]);
    await clock.tickAsync(10);
    node.events?.ready();
    await clock.tickAsync(100);
  }

  const ping = (): Promise<unknown> => executor.call('ping', [], { what: "acquire lock 'a'", routeBy: 'a' });

  for (const text of UNKNOWN) {
    it(`ON, and a server that is too old: says so at once (${text.slice(0, 15)})`, async () => {
      node.shards = reply(text);
      await open('ON');
      const error = await ping().catch((reason: unknown) => reason as Error);
      expect(error).to.be.instanceOf(ConnectionError);
      expect((error as Error).message).to.equal(
        "Redis at 127.0.0.1:7000 cannot serve us (acquire lock 'a'): shardedSubscriptionMode is ON, but the server has no " +
          'sharded pub/sub (Redis 7 and later have it): set it to AUTO or OFF, for all clients, or upgrade the servers',
      );
      expect((error as Error).cause).to.have.property('name', 'ConfigError');
      expect(executor.outage('a', 'x')).to.be.instanceOf(ConnectionError);
    });
  }

  it('ON, and a server that is too old and then upgraded: goes on', async () => {
    node.shards = reply(UNKNOWN[0]!);
    await open('ON');
    expect(view.refusal).to.be.instanceOf(ConfigError);
    node.shards = undefined;
    await clock.tickAsync(5_000);
    expect(view.refusal).to.equal(undefined);
    expect(await ping()).to.equal(1);
    expect(await view.known).to.equal(true);
  });

  for (const [mode, sharded] of [
    ['ON', true],
    ['AUTO', false],
    ['OFF', false],
  ] as const) {
    it(`${mode}, where nobody may ask: ${sharded ? '' : 'not '}sharded`, async () => {
      for (const text of DENIED) {
        node.shards = reply(text);
        await open(mode);
        expect([view.sharded, view.refusal]).to.deep.equal([sharded, undefined]);
      }
    });
  }

  it('AUTO, and a server that is too old: not sharded', async () => {
    node.shards = reply(UNKNOWN[0]!);
    await open('AUTO');
    expect([view.sharded, view.refusal]).to.deep.equal([false, undefined]);
  });
});
