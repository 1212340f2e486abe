import { serverIdentity } from '../../config/serverIdentity';
import type { Settings } from '../../config/Settings';
import type { TargetView } from './wire';

/** Default colours by label: without a chosen colour, production still differs from staging. */
const BY_LABEL = [
  [/prod|live/i, 'red'],
  [/stag|uat|pre|qa/i, 'amber'],
  [/dev|test|local|ci/i, 'green'],
] as const;

/** How many nodes are named; the others are only counted. */
const NAMED = 2;

/** Which Redis a page shows. Contains no password. */
export function targetOf(settings: Settings, label: string | undefined, color: TargetView['color']): TargetView {
  const identity = serverIdentity(settings);
  const cut = identity.lastIndexOf('/');
  const [server, database] = [identity.slice(0, cut), identity.slice(cut + 1)];
  const nodes = server.split(',');
  const more = nodes.length - NAMED;
  const user = userOf(settings);
  const at = user === 'default' || user === '' ? '' : `${encodeURIComponent(user)}@`;
  const isOne = nodes.length === 1 && !server.includes('@');
  const chosen = color ?? (label === undefined ? undefined : BY_LABEL.find(([text]) => text.test(label))?.[1]);
  return {
    server: more > 0 ? `${nodes.slice(0, NAMED).join(', ')} and ${more} more` : nodes.join(', '),
    database: Number(database),
    user,
    ...(isOne && { url: `redis${settings.tls === undefined ? '' : 's'}://${at}${server}/${database}` }),
    ...(label !== undefined && { label }),
    ...(chosen !== undefined && { color: chosen }),
  };
}

/** The user as Redis calls it; empty if a function provides it anew for each connection. */
function userOf({ topology, username, credentials }: Settings): string {
  if (credentials !== undefined) return '';
  if (topology.kind !== 'client') return username ?? 'default';
  const { options = {} } = topology.client.reveal() as { options?: Record<string, unknown> };
  const { redisOptions = {}, username: own } = options as {
    redisOptions?: { username?: string };
    username?: string;
  };
  return own ?? redisOptions.username ?? 'default';
}
