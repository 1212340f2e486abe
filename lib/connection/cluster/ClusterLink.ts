import { slotOf } from '../../util/names';
import type { ClusterView } from './ClusterView';
import type { CommandArgs, Link, LinkEvents, ReplicaAck } from '../link/Link';
import type { ClusterNode } from './NodePool';
import { isReply, redirected, unsent } from '../link/replyErrors';

/**
 * The way to a cluster: one connection to each master, chosen by the slot of the key.
 *
 * A redirected command did not run, so it goes to the node that the reply names: at once for `ASK`, through the
 * executor for `MOVED`, since that connection may have to be opened first. Nothing else is sent twice.
 */
export class ClusterLink implements Link {
  readonly address: string;
  readonly syncTimeout: number;
  readonly slotOf = slotOf;
  readonly #view: ClusterView;

  /**
   * @param address - where the cluster is, as configured; for errors
   * @param syncTimeout - how long replicas may take to confirm, in ms
   */
  constructor(view: ClusterView, address: string, syncTimeout: number) {
    this.#view = view;
    this.address = address;
    this.syncTimeout = syncTimeout;
  }

  get events(): LinkEvents | undefined {
    return this.#view.events;
  }

  set events(events: LinkEvents | undefined) {
    this.#view.events = events;
  }

  get ready(): boolean {
    return this.#view.well;
  }

  get refusal(): Error | undefined {
    return this.#view.refusal;
  }

  get lastError(): Error | undefined {
    return this.#view.lastError;
  }

  get publishCommand(): 'PUBLISH' | 'SPUBLISH' {
    return this.#view.sharded === true ? 'SPUBLISH' : 'PUBLISH';
  }

  canSend(key: string | undefined): boolean {
    return this.#view.sharded !== undefined && this.#nodeOf(key)?.link.ready === true;
  }

  send(
    command: string,
    args: CommandArgs,
    key: string | undefined,
    replicaAck: ReplicaAck | undefined,
  ): Promise<unknown> {
    const node = this.#nodeOf(key);
    if (node === undefined) return Promise.reject(unsent());
    const { connection } = node.link;
    const sent = node.link.send(command, args, key, replicaAck);
    return sent.catch((error: Error) =>
      this.#redirect(error, node, connection, (target) => target.link.ask(command, args, replicaAck)),
    );
  }

  serverOf(key: string | undefined): string {
    return this.#nodeOf(key)?.key ?? '';
  }

  unanswered(key: string | undefined, sentAt: number): void {
    this.#nodeOf(key)?.link.unanswered(key, sentAt);
    this.#view.trouble();
  }

  giveUp(key: string | undefined): void {
    this.#nodeOf(key)?.link.giveUp();
    this.#view.trouble();
  }

  close(): Promise<void> {
    return this.#view.close();
  }

  /** The node that serves a key; without a key, any node. */
  #nodeOf(key: string | undefined): ClusterNode | undefined {
    return this.#view.nodeOf(key === undefined ? 0 : slotOf(key));
  }

  /** @param connection - that of the node which answered */
  #redirect(
    error: Error,
    from: ClusterNode,
    connection: number,
    ask: (target: ClusterNode) => Promise<unknown>,
  ): Promise<unknown> {
    if (!isReply(error)) throw error;
    const [code] = error.message.split(' ', 1);
    if (code === 'CLUSTERDOWN') this.#view.trouble();
    if (code !== 'MOVED' && code !== 'ASK') throw error;
    const target = this.#view.redirect(error.message, from.address);
    // The servers behind one endpoint were exchanged: the old socket still leads to the old server.
    if (code === 'MOVED' && target === from) from.link.replace(connection);
    if (code === 'MOVED' || target === undefined) throw redirected();
    if (!target.link.ready) throw unsent();
    const asked = target.link.connection;
    // It may have given the slot away by now, before the first node has learned of that.
    return ask(target).catch((late: Error) => this.#redirect(late, target, asked, () => Promise.reject(redirected())));
  }
}
