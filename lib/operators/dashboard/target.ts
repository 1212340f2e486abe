import { serverIdentity } from '../../config/serverIdentity';
import type { Settings } from '../../config/Settings';
import type { TargetView } from './wire';

/** The colours of a label, by what it says: who has not chosen one still sees production in another one than staging. */
const BY_LABEL = [
  [/prod|live/i, 'red'],
  [/stag|uat|pre|qa/i, 'amber'],
  [/dev|test|local|ci/i, 'green'],
] as const;

/** Nodes that are named; of others only how many. */
const NAMED = 2;

/** Which Redis a page shows. No password is in it. */
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

/** As Redis calls it; empty where a function tells it anew for each connection. */
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
