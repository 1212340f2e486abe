import type { Config } from '../config/builder/Config';
import type { RedissonOptions } from '../config/RedissonOptions';
import { resolveConfig } from '../config/builder/resolveConfig';
import { validateName } from '../config/validateName';
import { connect } from '../connection/connect';
import { connectionName } from '../util/connectionName';
import { RedisView } from '../inspection/RedisView';
import { answer, gatherFacts, type Patient, type ServerFacts } from './facts';
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
export { ALL_KINDS } from '../kinds/allKinds';

const ALL: Readonly<Record<CheckName, ServerCheck>> = {
  reachable,
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
 * Looks at what breaks locks: at every master. Changes nothing.
 * @param config - as for `Redisson.create`
 * @param name - of a lock, to check the rights to its keys and channels with
 * @throws ConfigError
 */
export async function examine(config?: string | Config | RedissonOptions, name?: string): Promise<readonly Finding[]> {
  if (name !== undefined) validateName(name, 'lock');
  const settings = resolveConfig(config);
  const clientName = connectionName('doctor');
  const { executor, subscriber } = connect({ ...settings, clientName });
  subscriber.close();
  try {
    const redis = new RedisView(executor);
    const alive = await answer(executor.call('ping', [], { routeBy: '', what: 'ping' }));
    if ('refusal' in alive) return unreachable(alive.refusal);
    const masters = await answer(redis.masters());
    if ('refusal' in masters) return unreachable(masters.refusal);
    const patient: Patient = { settings, isCluster: redis.isCluster, name };
    const perServer = await Promise.all(
      masters.value.map(async ({ routeBy, address }) =>
        examineServer(await gatherFacts(redis, routeBy, address), patient),
      ),
    );
    return CHECKS.flatMap((check) => perServer.flat().filter((finding) => finding.check === check));
  } finally {
    await executor.close();
  }
}

async function examineServer(server: ServerFacts, patient: Patient): Promise<readonly Finding[]> {
  const findings = CHECKS.map(async (check): Promise<Finding> => {
    const { why } = ALL[check];
    const diagnosis = await ALL[check].examine(server, patient);
    return finding(check, server.address === '' ? '-' : server.address, why, diagnosis);
  });
  return Promise.all(findings);
}

function unreachable(refusal: string): readonly Finding[] {
  const [first, ...others] = CHECKS;
  return [
    finding(first, '-', ALL[first].why, error(refusal, 'check address, network, TLS, user and password')),
    ...others.map((check) => {
      const diagnosis = unknown('not checked: Redis does not answer', '');
      return finding(check, '-', ALL[check].why, diagnosis);
    }),
  ];
}

function finding(check: CheckName, server: string, why: string, diagnosis: ReturnType<typeof error>): Finding {
  const { status, found, advice = '' } = diagnosis;
  return { check, status, server, found, why, advice };
}
