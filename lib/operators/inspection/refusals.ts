import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { newSendRecord } from '../../connection/pending/CommandExecutor';
import { CommandError } from '../../errors';
import { commandsOf } from '../../kinds/allKinds';
import { LOCK } from '../../kinds/reentrant';

/** What the code of an error reply says of the server, and what to do. */
export const REFUSALS: Readonly<Record<string, { readonly found: string; readonly advice: string }>> = {
  OOM: { found: 'its memory is full', advice: 'make room: raise maxmemory, or move other data away' },
  NOREPLICAS: {
    found: 'too few replicas follow it',
    advice: 'start the missing or frozen replicas, or lower min-replicas-to-write',
  },
  READONLY: { found: 'it is a replica', advice: 'connect to its master, or through the sentinels' },
  MISCONF: { found: 'it cannot save to its disk', advice: 'check its log and its disk' },
  CLUSTERDOWN: {
    found: 'some slots have no working master',
    advice: 'check CLUSTER NODES, and start the nodes that do not answer',
  },
  LOADING: { found: 'it is loading its data', advice: 'wait until it has loaded them' },
  MASTERDOWN: { found: 'it is a replica without a master', advice: 'connect to the master, or bring it back' },
  BUSY: { found: 'a script has run for too long', advice: 'SCRIPT KILL, or wait' },
  NOPERM: {
    found: 'this user may not take locks',
    advice: 'grant the user the rules in docs/security.md for the kinds that it uses',
  },
};

/**
 * What Redis checks before it runs a script that may write: memory, replicas, disk, role. The script then writes
 * nothing. It returns the commands of a lock that this user may not use; none for a user that may not publish a
 * release: that one only looks.
 *
 * KEYS: none. ARGV: a key, the channel of its lock, commands.
 */
const PROBE = `#!lua
local missing = {}
local may = redis.acl_check_cmd
local looksOnly = not may('exists', ARGV[1]) or not may('publish', ARGV[2], '0')
for i = 3, #ARGV do
  if not looksOnly and not may(ARGV[i], ARGV[1], '1', '1') then missing[#missing + 1] = ARGV[i] end
end
return missing`;
/** A server before Redis 7 does not know the first line, and one that is no Redis perhaps not the question. */
const UNKNOWN_PROBE = /compil|acl_check_cmd|#!|shebang|engine/i;
/** The user may not use the key; whether it may take other locks is unknown. */
const ONLY_KEYS = /\bkeys?\b/;
/** The key of the probe where no lock is known. It is never written. */
const NO_KEY = 'ioredisson:probe';

/** One master, and how to reach it. */
interface Place {
  /** A key on it. */
  readonly routeBy: string;
  /** The fields of INFO; empty if it is refused. */
  readonly info: ReadonlyMap<string, string>;
}

/**
 * Why a server that answers refuses every lock. It takes no lock and writes nothing.
 * @param key - of a lock; @default one that does not exist
 * @returns the error reply that a lock would get; `undefined`: it gives locks, as far as can be known
 */
export async function refusalOf(
  executor: CommandExecutor,
  { routeBy, info }: Place,
  key = NO_KEY,
): Promise<string | undefined> {
  // Not tried: at that answer a connection looks for another master.
  if (info.get('role') === 'slave' && info.get('slave_read_only') !== '0') return 'READONLY';
  const ask = async (command: string, ...args: (string | number)[]): Promise<unknown> => {
    // As a single attempt, which does not wait until the server has room or replicas.
    const sendRecord = newSendRecord({ waits: false });
    return executor.call(command, args, { routeBy, sendRecord, what: 'ask whether it gives locks' });
  };
  try {
    const missing = await ask('eval', PROBE, 0, key, LOCK.channelOf(key), ...commandsOf(LOCK));
    return (missing as string[]).length === 0 ? undefined : `NOPERM ${(missing as string[]).join(', ')}`;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (!UNKNOWN_PROBE.test(textOf(error))) return textOf(error);
  }
  try {
    // A key that does not exist stays so, but the server checks whether it might be written.
    await ask('set', `${NO_KEY}:{${routeBy}}`, '', 'XX');
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.reply === 'NOPERM' || error.reply === 'ERR' ? undefined : textOf(error);
  }
}

function textOf({ message, cause }: CommandError): string {
  return cause instanceof Error ? cause.message : message;
}

/** A refusal for a person. @param reply - the error reply of the server */
export function refusalText(reply: string): string {
  const [code = ''] = reply.split(' ', 1);
  const known = REFUSALS[code];
  if (known === undefined) return `Redis answers, but refuses locks: ${reply}`;
  const which = code === 'NOPERM' && !ONLY_KEYS.test(reply) ? ` (${reply.slice(code.length + 1)})` : '';
  return `Redis answers, but refuses locks: ${code}, ${known.found}${which}. What to do: ${known.advice}.`;
}
