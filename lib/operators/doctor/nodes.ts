import type { Settings } from '../../config/Settings';
import type { ClusterTopology, NodeAddress } from '../../config/Topology';
import { connect } from '../../connection/connect';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { slotOf } from '../../util/names';
import { type Answer, answer, isAnswer, type Server } from './facts';

/** Time limit for the first answer of a node, in ms. A slower node is frozen, or cut off. */
const PROBE_MS = 2_000;

/** A server, or a configured node of a cluster that does not answer. */
export interface ServerNode extends Server {
  /** Why it does not answer; `undefined`: it answers. */
  readonly silent: string | undefined;
}

type Slots = readonly [number, number, [string, number]][];

/** The servers that hold locks. @param opened - collects the executors that the caller has to close */
export async function serverNodes(settings: Settings, opened: CommandExecutor[]): Promise<readonly ServerNode[]> {
  const { topology } = settings;
  if (topology.kind === 'cluster') return clusterNodes(settings, topology, opened);
  const executor = open(settings, opened);
  const alive = await answer(executor.call('ping', [], { routeBy: '', what: 'ping' }));
  return [{ address: '', tag: '', silent: refusalOf(alive), executor }];
}

/** The masters of a cluster, as its nodes report them, and the configured nodes that do not answer. */
async function clusterNodes(
  settings: Settings,
  { nodes: configured, natMapper }: ClusterTopology,
  opened: CommandExecutor[],
): Promise<readonly ServerNode[]> {
  const known = new Map<string, ReturnType<typeof probeNode>>();
  const probe = (address: NodeAddress): ReturnType<typeof probeNode> => {
    const text = textOf(address);
    const asked = known.get(text) ?? probeNode(settings, address, opened);
    known.set(text, asked);
    return asked;
  };
  const probed = await Promise.all(configured.map(probe));
  const masters = new Map<string, { readonly address: NodeAddress; readonly slot: number }>();
  for (const { slots } of probed) {
    for (const [slot, , [host, port]] of 'value' in slots ? slots.value : []) {
      const address = natMapper?.map({ host, port }) ?? { host, port };
      if (!masters.has(textOf(address))) masters.set(textOf(address), { address, slot });
    }
  }
  const nodes: ServerNode[] = [];
  for (const [text, { address, slot }] of masters) {
    const { executor, slots } = await probe(address);
    nodes.push({ address: text, tag: tagOf(slot), silent: refusalOf(slots), executor });
  }
  for (const [i, { executor, slots }] of probed.entries()) {
    const address = textOf(configured[i]!);
    // The facts of a master cover its replicas that answer. If no node has slots, each configured node is listed.
    const isNews = 'refusal' in slots || masters.size === 0;
    if (isNews && !masters.has(address)) nodes.push({ address, tag: '', silent: refusalOf(slots), executor });
  }
  return nodes;
}

function refusalOf(asked: Answer<unknown>): string | undefined {
  return 'refusal' in asked && !isAnswer(asked.refusal) ? asked.refusal : undefined;
}

async function probeNode(settings: Settings, address: NodeAddress, opened: CommandExecutor[]) {
  const timeout = Math.min(settings.timeout, PROBE_MS);
  const connectTimeout = Math.min(settings.connectTimeout, PROBE_MS);
  const topology = { kind: 'single', address } as const;
  const executor = open({ ...settings, topology, timeout, connectTimeout, retryAttempts: 0 }, opened);
  const asked = executor.call('cluster', ['SLOTS'], { what: 'ask which node it is' });
  return { executor, slots: await answer(asked as Promise<Slots>) };
}

function open(settings: Settings, opened: CommandExecutor[]): CommandExecutor {
  const { executor, subscriber } = connect(settings);
  subscriber.close();
  opened.push(executor);
  return executor;
}

function textOf({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

function tagOf(slot: number): string {
  for (let i = 0; ; i++) if (slotOf(String(i)) === slot) return String(i);
}
