import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { resolveConfig } from '../../config/builder/resolveConfig';
import type { Settings } from '../../config/Settings';
import { validateName } from '../../config/validateName';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { connectionName } from '../../util/connectionName';
import { gatherFacts, type Patient } from './facts';
import { type ServerNode, serverNodes } from './nodes';
import { tlsHint } from './tlsHint';
import { type Diagnosis, error, unknown } from './findings';
import { CHECKS } from './serverChecks';

export type { FindingStatus } from './findings';
// For the command line, which loads the library from its entry points only.
export { adviceOf, levelOf, LEVELS, lossText, RUNBOOK, runbookOf } from '../inspection/advice';
export { applyRemedy, type Remedy } from '../inspection/remedies';
export { readableTime } from '../../util/readableTime';
export { given, groupBy } from '../../util/collections';
export { inTime } from '../../util/timing';
export { VERSION } from '../../util/version';
export { ALL_KINDS } from '../../kinds/allKinds';

/** The name of a check. */
export type CheckName = keyof typeof CHECKS;

const NAMES = Object.keys(CHECKS) as CheckName[];

/** One result of the doctor. The fields are stable: `--json` prints them. */
export interface Finding extends Diagnosis {
  /** The check that found it. */
  readonly check: CheckName;
  /** The server that it concerns: `host:port`; `-` if it concerns the client or if there is only one server. */
  readonly server: string;
  /** Why it matters to locks. */
  readonly why: string;
}

/**
 * Checks every master for what breaks locks. Takes a lock of its own and releases it; changes nothing else.
 * @param config - as for `Redisson.create`
 * @param name - of a lock, to check the rights to its keys and channels
 * @throws ConfigError
 */
export async function examine(config?: string | Config | RedissonOptions, name?: string): Promise<readonly Finding[]> {
  if (name !== undefined) validateName(name, 'lock');
  const settings: Settings = { ...resolveConfig(config), clientName: connectionName('doctor') };
  const opened: CommandExecutor[] = [];
  try {
    const nodes = await serverNodes(settings, opened);
    // Ask each node directly. Through the cluster, a frozen node would delay every check, and the other nodes would
    // get the blame.
    const findings = (await Promise.all(nodes.map((node) => examineNode(node, { settings, name })))).flat();
    return NAMES.flatMap((check) => findings.filter((finding) => finding.check === check));
  } finally {
    await Promise.all(opened.map((executor) => executor.close()));
  }
}

async function examineNode(node: ServerNode, patient: Patient): Promise<readonly Finding[]> {
  const place = node.address === '' ? '-' : node.address;
  if (node.silent !== undefined) return unreachable(place, node.silent, await tlsHint(patient.settings));
  const server = await gatherFacts(node);
  return Promise.all(NAMES.map(async (check) => finding(check, place, await CHECKS[check].examine(server, patient))));
}

function unreachable(server: string, refusal: string, hint: string | undefined): readonly Finding[] {
  const silent = error(refusal, hint ?? 'check address, network, TLS, user and password; is it frozen?');
  const notChecked = unknown('not checked: it does not answer', '');
  return NAMES.map((check) => finding(check, server, check === 'reachable' ? silent : notChecked));
}

function finding(check: CheckName, server: string, { status, found, advice }: Diagnosis): Finding {
  return { check, status, server, found, why: CHECKS[check].why, advice };
}
