import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { resolveConfig } from '../../config/builder/resolveConfig';
import type { Settings } from '../../config/Settings';
import type { ClusterTopology } from '../../config/Topology';
import { validateName } from '../../config/validateName';
import { connect } from '../../connection/connect';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { connectionName } from '../../util/connectionName';
import { RedisView } from '../inspection/RedisView';
import { answer, gatherFacts, type Patient, type ServerFacts } from './facts';
import { clusterNodes } from './nodes';
import { tlsHint } from './tlsHint';
import { type Diagnosis, error, type FindingStatus, unknown } from './findings';
import { rights } from './rights';
import * as ofServer from './serverChecks';

export type { FindingStatus } from './findings';
// For the command line, which loads the library from its entry points only.
export { adviceOf, RUNBOOK } from '../inspection/advice';
export { readableTime } from '../../util/readableTime';
export { given, groupBy } from '../../util/collections';
export { inTime } from '../../util/timing';
export { VERSION } from '../../util/version';
export { ALL_KINDS } from '../../kinds/allKinds';

/** What the doctor looks at, in this order. */
const CHECKS = {
  reachable: ofServer.reachable,
  lock: ofServer.lock,
  version: ofServer.version,
  memory: ofServer.memory,
  persistence: ofServer.persistence,
  replicas: ofServer.replicas,
  pubsub: ofServer.pubsub,
  rights,
  clock: ofServer.clock,
  buffers: ofServer.buffers,
  timeouts: ofServer.timeouts,
  provider: ofServer.provider,
};

/** The name of a check. */
export type CheckName = keyof typeof CHECKS;

const NAMES = Object.keys(CHECKS) as CheckName[];

/** One result of the doctor. The fields are stable: `--json` prints them. */
export interface Finding {
  /** What was looked at. */
  readonly check: CheckName;
  readonly status: FindingStatus;
  /** The server that it is about: `host:port`; `-` where it is about the client or there is only one server. */
  readonly server: string;
  /** What was found. */
  readonly found: string;
  /** Why it matters to locks. */
  readonly why: string;
  /** What to do; empty where nothing is to be done. */
  readonly advice: string;
}

/**
 * Looks at what breaks locks: at every master. Takes a lock of its own and gives it back; changes nothing else.
 * @param config - as for `Redisson.create`
 * @param name - of a lock, to check the rights to its keys and channels with
 * @throws ConfigError
 */
export async function examine(config?: string | Config | RedissonOptions, name?: string): Promise<readonly Finding[]> {
  if (name !== undefined) validateName(name, 'lock');
  const settings = resolveConfig(config);
  const named: Settings = { ...settings, clientName: connectionName('doctor') };
  const opened: CommandExecutor[] = [];
  try {
    const { topology } = named;
    const found =
      topology.kind === 'cluster' ? examineCluster(named, topology, name, opened) : examineMasters(named, name, opened);
    const findings = await found;
    return NAMES.flatMap((check) => findings.filter((finding) => finding.check === check));
  } finally {
    await Promise.all(opened.map((executor) => executor.close()));
  }
}

async function examineMasters(
  settings: Settings,
  name: string | undefined,
  opened: CommandExecutor[],
): Promise<readonly Finding[]> {
  const { executor, subscriber } = connect(settings);
  opened.push(executor);
  subscriber.close();
  const redis = new RedisView(executor);
  const alive = await answer(executor.call('ping', [], { routeBy: '', what: 'ping' }));
  const masters = 'refusal' in alive ? alive : await answer(redis.masters());
  if ('refusal' in masters) return unreachable('-', masters.refusal, await tlsHint(settings));
  const { isCluster } = redis;
  const perServer = masters.value.map(async ({ routeBy, address }) =>
    examineServer(await gatherFacts(redis, routeBy, address, isCluster ? routeBy : ''), { settings, isCluster, name }),
  );
  return (await Promise.all(perServer)).flat();
}

/** Each node by itself: one that is frozen holds up whoever goes through the cluster, and the others look guilty. */
async function examineCluster(
  settings: Settings,
  topology: ClusterTopology,
  name: string | undefined,
  opened: CommandExecutor[],
): Promise<readonly Finding[]> {
  const nodes = await clusterNodes(settings, topology, opened);
  const perNode = nodes.map(async ({ address, tag, silent, executor }) => {
    if (silent !== undefined) return unreachable(address, silent, undefined);
    return examineServer(await gatherFacts({ executor }, tag, address, tag), { settings, isCluster: true, name });
  });
  return (await Promise.all(perNode)).flat();
}

async function examineServer(server: ServerFacts, patient: Patient): Promise<readonly Finding[]> {
  const place = server.address === '' ? '-' : server.address;
  return Promise.all(NAMES.map(async (check) => finding(check, place, await CHECKS[check].examine(server, patient))));
}

function unreachable(server: string, refusal: string, hint: string | undefined): readonly Finding[] {
  const silent = error(refusal, hint ?? 'check address, network, TLS, user and password; is it frozen?');
  const notChecked = unknown('not checked: it does not answer', '');
  return NAMES.map((check) => finding(check, server, check === 'reachable' ? silent : notChecked));
}

function finding(check: CheckName, server: string, { status, found, advice = '' }: Diagnosis): Finding {
  return { check, status, server, found, why: CHECKS[check].why, advice };
}
