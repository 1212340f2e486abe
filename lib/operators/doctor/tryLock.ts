import { randomUUID } from 'node:crypto';
import { mapName } from '../../config/validateName';
import { CommandError, NoSyncedReplicasError } from '../../errors';
import { LOCK, UNLOCK_MESSAGE, acquireLock, releaseLock } from '../../kinds/reentrant';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { slotOf } from '../../util/names';
import { textOf } from './facts';
import { error, ok, unknown } from './findings';
import { RULES_ADVICE } from './rights';
import { GOOD_REPLICAS, type ServerCheck } from './serverChecks';

/** Of the lock that is tried, in ms: should we end in the middle, it is gone soon. */
const LEASE_MS = 5_000;

/** What to do about a server that answers, and refuses. */
const ADVICE: Readonly<Record<string, string>> = {
  NOREPLICAS: GOOD_REPLICAS,
  READONLY: 'connect to the master: this is a replica',
  OOM: 'make room: locks are refused with OOM',
  MISCONF: 'look at its log and its disk: it refuses writes until it can save',
  CLUSTERDOWN: 'look at CLUSTER NODES: slots have no master that works; start the nodes that do not answer',
  LOADING: 'wait until it has loaded its data',
  MASTERDOWN: 'connect to the master, or bring it back',
  BUSY: 'a script runs too long: SCRIPT KILL, or wait',
};

/** Takes a lock of its own and gives it back. */
export const lock: ServerCheck = {
  why: 'Whatever else is well: a server that refuses this gives no lock to anybody.',
  async examine({ executor, tag }, { settings, name }) {
    const place = tag === '' ? '' : `:{${tag}}`;
    const key = mapName(`${name ?? 'ioredisson'}:doctor${place}:${randomUUID()}`, settings.nameMapper);
    // The name has a tag of its own, so its locks are on another node.
    if (tag !== '' && slotOf(key) !== slotOf(tag)) return ok('not tried here: that name belongs to another node');
    const keys = LOCK.keysOf(key);
    const owner = `${randomUUID()}:1`;
    const startedAt = performance.now();
    try {
      const what = 'try a lock';
      await executor.run(acquireLock, keys, { lease: LEASE_MS, owner, count: 1 }, { what });
      const args = { message: UNLOCK_MESSAGE, owner, left: 0, remaining: 0, publish: PUBLISH_COMMAND } as const;
      await executor.run(releaseLock, keys, args, { what });
      return ok(`a lock was taken and given back in ${(performance.now() - startedAt).toFixed(1)} ms`);
    } catch (failure) {
      const text = textOf(failure);
      if (failure instanceof NoSyncedReplicasError) {
        return error('a lock was taken, but no replica confirms it, so it is refused', GOOD_REPLICAS);
      }
      if (!(failure instanceof CommandError)) return error(`no lock is given: ${text}`, 'look at this server');
      // A user without the command gets no lock of any name.
      if (/permissions to run|can't run this command/.test(text))
        return error(`every lock is refused: ${text}`, RULES_ADVICE);
      if (/^(?:NOPERM|NOAUTH)\b|ACL failure/.test(text)) {
        const advice = name === undefined ? 'try with a name of yours: ioredisson doctor <name>' : '';
        return unknown(`not tried, this user may not: ${text}`, advice);
      }
      return error(`every lock is refused: ${text}`, ADVICE[failure.reply] ?? 'look at the log of the server');
    }
  },
};
