import { ConnectionError, CommandTimeoutError } from '../../errors';
import { inTime } from '../../util/timing';
import { type Master, type RedisView, unlessRefused } from './RedisView';
import { refusalOf } from './refusals';

const WHAT = 'ask how the server is';

/** What a master says of itself. */
export interface ServerState {
  /** `host:port` in a cluster, else empty. */
  readonly address: string;
  /** Identifies the server process; empty if INFO is refused. */
  readonly run: string;
  /** Identifies the history of its data. A promoted replica begins a new one. */
  readonly history: string;
  /** How much of its history it has written. 0 if it never had a replica. */
  readonly offset: number;
  /** The history that it continues: that of the master whose replica it was. */
  readonly continues: string;
  /** How much of that history it has. */
  readonly continuesTo: number;
  /** Whether it has started without any data. */
  readonly startedEmpty: boolean;
  /** The error reply that a lock would get; `undefined`: it gives locks. */
  readonly refusal: string | undefined;
}

/** The masters that answer. */
export interface Servers {
  readonly all: readonly ServerState[];
  /** The error reply that every lock would get, or those of one master; `undefined`: locks are given. */
  readonly refusal: string | undefined;
}

/** A master that takes longer, in ms, counts as one that does not answer. */
const LIMIT_MS = 2_000;

/**
 * Asks all masters how they are. Those that do not answer are missing.
 * @param key - of a lock, for the rights of our user
 * @throws ConnectionError, CommandTimeoutError if none answers
 */
export async function readServers(redis: RedisView, key: string | undefined): Promise<Servers> {
  let failure: unknown = new CommandTimeoutError(WHAT, LIMIT_MS, false);
  const read = async (master: Master): Promise<ServerState | undefined> => {
    try {
      const outage = redis.executor.outage(master.routeBy, WHAT);
      if (outage !== undefined) throw outage;
      return (await inTime(readServer(redis, master, key), LIMIT_MS))?.value;
    } catch (error) {
      if (!(error instanceof ConnectionError || error instanceof CommandTimeoutError)) throw error;
      failure = error;
      return undefined;
    }
  };
  const all = (await Promise.all((await redis.masters()).map(read))).filter((state) => state !== undefined);
  if (all.length === 0) throw failure;
  const isDown = redis.isCluster && (await redis.clusterInfo()).includes('cluster_state:fail');
  return { all, refusal: isDown ? 'CLUSTERDOWN' : all.find(({ refusal }) => refusal !== undefined)?.refusal };
}

async function readServer(
  redis: RedisView,
  { routeBy, address }: Master,
  key: string | undefined,
): Promise<ServerState> {
  const asked = redis.executor.call('info', [], { routeBy, what: WHAT });
  const info = fieldsOf(String(await unlessRefused(asked, '')));
  const text = (field: string): string => info.get(field) ?? '';
  return {
    address,
    run: text('run_id'),
    history: text('master_replid'),
    offset: Number(text('master_repl_offset')),
    continues: text('master_replid2'),
    // The offset is that of the next byte.
    continuesTo: Number(text('second_repl_offset')) - 1,
    startedEmpty: text('aof_enabled') === '0' && text('rdb_last_load_keys_loaded') === '0',
    refusal: await refusalOf(redis.executor, { routeBy, info }, key),
  };
}

/** The server processes, as one text. */
export function runsOf({ all }: Servers): string {
  return all
    .map(({ run }) => run)
    .sort()
    .join(' ');
}

/** The fields of INFO. */
export function fieldsOf(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^([^#:\r\n]+):(.*?)\r?$/gm)].map(([, name, value]) => [name!, value!]));
}
