import * as path from 'node:path';
import { DriverProcess } from './DriverProcess';
import { NodeDriver } from './nodeDriver/NodeDriver';
import { Peer, type PeerConfig } from './Peer';
import type { Transport } from './Transport';

const REGISTER = path.join(__dirname, '..', '..', '..', 'tools', 'register.cjs');
const MAIN = path.join(__dirname, 'nodeDriver', 'main.ts');

/** This package behind the operations of `JavaRedisson`: in this process, or in one that can be killed. */
export class NodeRedisson {
  readonly #transport: Transport;
  readonly #end: () => Promise<void>;
  /** `undefined` when it runs in this process. */
  readonly process: DriverProcess | undefined;

  private constructor(transport: Transport, end: () => Promise<void>, process?: DriverProcess) {
    this.#transport = transport;
    this.#end = end;
    this.process = process;
  }

  /** In this process. */
  static local(): NodeRedisson {
    const driver = new NodeDriver();
    return new NodeRedisson(driver, () => driver.close());
  }

  /** In a process of its own. */
  static async start(): Promise<NodeRedisson> {
    const process = await DriverProcess.start('node', globalThis.process.execPath, ['--require', REGISTER, MAIN]);
    return new NodeRedisson(process, () => process.close(), process);
  }

  /** A new client. */
  peer(config: PeerConfig): Promise<Peer> {
    return Peer.create(this.#transport, config);
  }

  /** SIGKILL; only for one in a process of its own. */
  async kill(): Promise<void> {
    if (this.process === undefined) throw new Error('that would be suicide');
    await this.process.kill();
  }

  /** Shuts its clients down. */
  close(): Promise<void> {
    return this.#end();
  }
}
