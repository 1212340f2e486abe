import type { LossReport } from './reports';
import type { ServerState } from './servers';
import type { LastSeen, Scan, Sighting } from './seen';

/** How many names are reported. */
const MAX_NAMES = 5;

/** What is known of a hold that is gone after its server has changed. */
type Fate =
  /** It was released, or it ended: the server had it, or is still the same. */
  | 'ended'
  /** The server came back without any data. */
  | 'lost'
  /** It was released meanwhile, or was lost: Redis cannot tell. */
  | 'unknown';

/**
 * What a restart or a failover between two complete scans has lost: the locks whose owners were seen before and are not
 * there now. Locks that were released while only the connection was away are no loss.
 *
 * @param last - what was seen before
 * @param present - what is there now
 * @param then - the scan before, `now` - the one after
 * @param at - when Redis was read again, in ms since 1970
 */
export function lossBetween(
  last: LastSeen,
  present: LastSeen,
  then: Scan,
  now: Scan,
  at: number,
): LossReport | undefined {
  const wasCut = then.connection !== now.connection;
  const known = new Map(then.servers.all.map((one) => [one.address, one]));
  const fates = [...last].flatMap(([key, seen]): [string, Fate][] => {
    const remains = new Set(present.get(key)?.report.holders.map(({ owner }) => owner));
    const { holders, name } = seen.report;
    if (holders.length === 0 || holders.some(({ owner }) => remains.has(owner))) return [];
    return [[name, fateOf(seen, known.get(seen.address), now.servers.all, wasCut)]];
  });
  const lost = fates.filter(([, fate]) => fate !== 'ended');
  if (lost.length === 0) return undefined;
  const names = lost.slice(0, MAX_NAMES).map(([name]) => name);
  return { at, locks: lost.length, names, certain: lost.every(([, fate]) => fate === 'lost') };
}

/** @param server - the server that had it; `undefined`: it did not say how it was */
function fateOf(
  { offset, scans, address }: Sighting,
  server: ServerState | undefined,
  now: readonly ServerState[],
  wasCut: boolean,
): Fate {
  // What comes and goes between two scans is released all the time. Only what was there twice is missed.
  const doubtful = scans > 1 ? 'unknown' : 'ended';
  if (server === undefined || server.run === '') return wasCut ? doubtful : 'ended';
  if (now.some(({ run }) => run === server.run)) return 'ended';
  const heir = now.find(({ continues }) => server.offset > 0 && continues === server.history);
  // A replica that was promoted, or a server that has loaded its snapshot.
  if (heir !== undefined) return offset <= heir.continuesTo ? 'ended' : 'unknown';
  const successor = now.find((one) => one.address === address);
  return successor?.startedEmpty === true ? 'lost' : doubtful;
}
