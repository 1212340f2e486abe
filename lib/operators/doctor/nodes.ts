import type { Settings } from '../../config/Settings';
import type { ClusterTopology, NodeAddress } from '../../config/Topology';
import { connect } from '../../connection/connect';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { slotOf } from '../../util/names';
import { type Answer, answer } from './facts';

/** What a node that is asked for the first time may take, in ms: one that takes longer is frozen, or cut off. */
const PROBE_MS = 2_000;

/** A master of a cluster, asked directly, so that none answers for another. */
export interface ClusterNode {
  readonly address: string;
  /** What a key has in braces to be on it; empty where it has no slot. */
  readonly tag: string;
  /** `undefined`: it answers. */
  readonly silent: string | undefined;
  readonly executor: CommandExecutor;
}

type Slots = readonly [number, number, [string, number]][];

/** The masters of a cluster as its nodes tell, and the configured nodes that do not answer. @param opened - to be closed */
export async function clusterNodes(
  settings: Settings,
  topology: ClusterTopology,
  opened: CommandExecutor[],
): Promise<readonly ClusterNode[]> {
  const { natMapper } = topology;
  const known = new Map<string, Promise<readonly [CommandExecutor, Answer<Slots>]>>();
  const probe = (address: NodeAddress): Promise<readonly [CommandExecutor, Answer<Slots>]> => {
    const text = textOf(address);
    const asked = known.get(text) ?? probeNode(settings, address, opened);
    known.set(text, asked);
    return asked;
  };
  const configured = await Promise.all(topology.nodes.map(probe));
  const masters = new Map<string, { readonly address: NodeAddress; readonly slot: number }>();
  for (const [, slots] of configured) {
    for (const [slot, , [host, port]] of 'value' in slots ? slots.value : []) {
      const address = natMapper?.map({ host, port }) ?? { host, port };
      if (!masters.has(textOf(address))) masters.set(textOf(address), { address, slot });
    }
  }
  const nodes: ClusterNode[] = [];
  for (const [text, { address, slot }] of masters) {
    const [executor, slots] = await probe(address);
    nodes.push({ address: text, tag: tagOf(slot), silent: refusalOf(slots), executor });
  }
  for (const [i, [executor, slots]] of configured.entries()) {
    const address = textOf(topology.nodes[i]!);
    // A replica that answers is in the facts of its master; a node without a slot stands for itself where none has one.
    const isNews = 'refusal' in slots || masters.size === 0;
    if (isNews && !masters.has(address)) nodes.push({ address, tag: '', silent: refusalOf(slots), executor });
  }
  return nodes;
}

function refusalOf(slots: Answer<Slots>): string | undefined {
  return 'refusal' in slots ? slots.refusal : undefined;
}

async function probeNode(
  settings: Settings,
  address: NodeAddress,
  opened: CommandExecutor[],
): Promise<readonly [CommandExecutor, Answer<Slots>]> {
  const { executor, subscriber } = connect({
    ...settings,
    topology: { kind: 'single', address },
    timeout: Math.min(settings.timeout, PROBE_MS),
    connectTimeout: Math.min(settings.connectTimeout, PROBE_MS),
    retryAttempts: 0,
  });
  subscriber.close();
  opened.push(executor);
  return [
    executor,
    await answer(executor.call('cluster', ['SLOTS'], { what: 'ask which node it is' }) as Promise<Slots>),
  ];
}

function textOf({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

function tagOf(slot: number): string {
  for (let i = 0; ; i++) if (slotOf(String(i)) === slot) return String(i);
}
