import { RedisServer } from '../../../tools/redisServer';
import { JavaRedisson } from './JavaRedisson';
import { NodeRedisson } from './NodeRedisson';
import type { Peer, PeerConfig } from './Peer';
import { Probe } from './Probe';
import { NEWEST } from './toolchain';

export type Side = 'java' | 'node';

/** What makes the clients of the Node side; see {@link JAVA_ONLY}. */
export async function openNodeSide(): Promise<Pick<NodeRedisson, 'peer' | 'close'>> {
  if (!JAVA_ONLY) return NodeRedisson.local();
  const jvm = await JavaRedisson.shared();
  return { peer: (config) => jvm.peer(config), close: () => Promise.resolve() };
}

/** What differs from one stage to the next. */
export interface StageOptions {
  /** Of the Java side. Default: the newest. */
  readonly version?: string;
  /** Settings of both sides. */
  readonly config?: Omit<PeerConfig, 'addresses'>;
}

const open = new Map<string, Promise<Stage>>();

/**
 * `INTEROP_JAVA_ONLY=1` puts a second Java client where the Node client belongs: what then fails is the test's own
 * fault, or a difference this package makes on purpose.
 */
const JAVA_ONLY = process.env['INTEROP_JAVA_ONLY'] === '1';

/**
 * One Redis with a Java client, a Node client and a {@link Probe} that looks at it from outside.
 *
 * Stages with the same options are one stage: starting a server and a Java client takes longer than most tests, so
 * suites share them and use names of their own.
 */
export class Stage {
  readonly server: RedisServer;
  readonly probe: Probe;
  readonly java: Peer;
  readonly node: Peer;
  readonly #config: PeerConfig;
  readonly #jvm: JavaRedisson;
  readonly #local: NodeRedisson;
  readonly #guests: Peer[] = [];

  private constructor(parts: {
    server: RedisServer;
    probe: Probe;
    java: Peer;
    node: Peer;
    config: PeerConfig;
    jvm: JavaRedisson;
    local: NodeRedisson;
  }) {
    this.server = parts.server;
    this.probe = parts.probe;
    this.java = parts.java;
    this.node = parts.node;
    this.#config = parts.config;
    this.#jvm = parts.jvm;
    this.#local = parts.local;
  }

  /** The stage with these options, opened by the first who asks. */
  static shared(options: StageOptions = {}): Promise<Stage> {
    const key = JSON.stringify(options);
    let stage = open.get(key);
    if (stage === undefined) {
      stage = Stage.open(options);
      open.set(key, stage);
    }
    return stage;
  }

  /** Ends what {@link shared} opened. */
  static async closeShared(): Promise<void> {
    const stages = [...open.values()];
    open.clear();
    for (const stage of await Promise.allSettled(stages)) {
      if (stage.status === 'fulfilled') await stage.value.close();
    }
  }

  /** A stage of the caller's own. */
  static async open({ version = NEWEST, config: settings = {} }: StageOptions = {}): Promise<Stage> {
    const [server, jvm] = await Promise.all([RedisServer.start(), JavaRedisson.shared(version)]);
    const config = { ...settings, addresses: [server.url] };
    const local = NodeRedisson.local();
    const [probe, java, node] = await Promise.all([
      Probe.open(server.url),
      jvm.peer(config),
      (JAVA_ONLY ? jvm : local).peer(config),
    ]);
    return new Stage({ server, probe, java, node, config, jvm, local });
  }

  /** The settings of both sides, for more peers. */
  get config(): PeerConfig {
    return this.#config;
  }

  /** The client of that side. */
  peer(side: Side): Peer {
    return side === 'java' ? this.java : this.node;
  }

  /** One more client of that side, with other settings; the stage closes it. */
  async guest(side: Side, settings: Partial<PeerConfig> = {}): Promise<Peer> {
    const config = { ...this.#config, ...settings };
    const guest = await (side === 'java' || JAVA_ONLY ? this.#jvm.peer(config) : this.#local.peer(config));
    this.#guests.push(guest);
    return guest;
  }

  /** A process of that side with a client of the stage's settings, for the caller to pause, kill or close. */
  async spawn(side: Side): Promise<{ readonly driver: JavaRedisson | NodeRedisson; readonly peer: Peer }> {
    const driver = await (side === 'java' || JAVA_ONLY ? JavaRedisson.start() : NodeRedisson.start());
    return { driver, peer: await driver.peer(this.#config) };
  }

  async close(): Promise<void> {
    await Promise.all([this.java, this.node, ...this.#guests].map((peer) => peer.shutdown().catch(() => undefined)));
    await this.#local.close();
    await this.probe.close();
    await this.server.stop();
  }
}
