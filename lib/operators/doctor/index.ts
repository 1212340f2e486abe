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
import { lock } from './tryLock';
import { type CheckName, CHECKS, error, type Finding, unknown } from './findings';
import { provider } from './provider';
import { rights } from './rights';
import {
  buffers,
  clock,
  memory,
  persistence,
  pubsub,
  reachable,
  replicas,
  type ServerCheck,
  timeouts,
  version,
} from './serverChecks';

export type { CheckName, Finding, FindingStatus } from './findings';
// For the command line, which loads the library from its entry points only.
export { adviceOf, RUNBOOK } from '../inspection/advice';
export { readableTime } from '../../util/readableTime';
export { inTime } from '../../util/timing';
export { ALL_KINDS } from '../../kinds/allKinds';

const ALL: Readonly<Record<CheckName, ServerCheck>> = {
  reachable,
  lock,
  version,
  memory,
  persistence,
  replicas,
  pubsub,
  rights,
  clock,
  buffers,
  timeouts,
  provider,
};

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
    return CHECKS.flatMap((check) => findings.filter((finding) => finding.check === check));
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
  const findings = CHECKS.map(async (check): Promise<Finding> => {
    const { why } = ALL[check];
    const diagnosis = await ALL[check].examine(server, patient);
    return finding(check, server.address === '' ? '-' : server.address, why, diagnosis);
  });
  return Promise.all(findings);
}

function unreachable(server: string, refusal: string, hint: string | undefined): readonly Finding[] {
  const [first, ...others] = CHECKS;
  const advice = hint ?? 'check address, network, TLS, user and password; is it frozen?';
  return [
    finding(first, server, ALL[first].why, error(refusal, advice)),
    ...others.map((check) => {
      const diagnosis = unknown('not checked: it does not answer', '');
      return finding(check, server, ALL[check].why, diagnosis);
    }),
  ];
}

function finding(check: CheckName, server: string, why: string, diagnosis: ReturnType<typeof error>): Finding {
  const { status, found, advice = '' } = diagnosis;
  return { check, status, server, found, why, advice };
}
