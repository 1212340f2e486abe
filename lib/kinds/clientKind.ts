import type { CommandExecutor, Fresh, SendRecord } from '../connection/pending/CommandExecutor';
import { IllegalMonitorStateError } from '../errors';
import type { AcquireReply } from '../scripts/replies';
import { PUBLISH_COMMAND, RESEND_FLAG, type Script, type ScriptArg } from '../scripts/Script';
import type { GroupValues, Ownership, Renewable, Renewal, Renewed } from '../watchdog/Ownership';
import type { ClientContext } from './ClientContext';
import { LEFT_FREE_LOCK, waitOnWire } from './fair';
import { renewValues } from './group';
import type { AttemptArg, LockDescriptor, LockKind, LockSubject, ReleaseArg, Renewals } from './Kind';
import { renewReadLocks, readKeyPrefix } from './readWrite';
import { heldPermits, permitKeys, permitLeases, PERMIT } from './permit';
import { scriptsOf } from './scriptsOf';
import { lockChannel, UNLOCK_MESSAGE, lockTimeToLive, ownerName, renewLocks } from './reentrant';

/**
 * All families of renewals: of locks with one owner field in one hash (Redisson: LockTask); of read locks, whose owners
 * have keys of their holds besides (ReadLockTask); of group locks, all sets of values of each owner (Redisson renews
 * only the first set); of permits that are held, all ids of a hold together.
 *
 * @param around - what the client does around each of them
 */
export function renewalsOf(executor: CommandExecutor, around: (renewal: Renewal) => Renewal): Renewals {
  const batchOf = ({ rawName }: Renewable): number => executor.slotOf(rawName);
  function renewal<R>(
    what: string,
    script: Script<never, 'lease' | 'renewal' | 'publish', R>,
    read: (reply: R, batch: readonly Renewable[]) => readonly Renewed[],
    argsOf: (one: Renewable) => readonly ScriptArg[] = ({ owner }) => [owner],
    keysOf: (one: Renewable) => readonly string[] = ({ rawName }) => [rawName],
  ): Renewal {
    const renew: Renewal['renew'] = async (batch, lease) => {
      const args = { lease, renewal: 1, publish: PUBLISH_COMMAND } as const;
      const more = { moreKeys: batch.flatMap(keysOf), moreArgs: batch.flatMap(argsOf) };
      return read(await executor.run(script, {}, args, { what, ...more }), batch);
    };
    return around({ renew, batchOf });
  }
  const asTheyAre = (held: readonly boolean[]): readonly Renewed[] => held;
  return {
    plain: renewal('renew locks', renewLocks, asTheyAre),
    read: renewal('renew read locks', renewReadLocks, asTheyAre, undefined, ({ rawName }) => [
      rawName,
      readKeyPrefix(rawName),
    ]),
    group: renewal(
      'renew group locks',
      renewValues,
      (gone) => gone.map((values) => values.length === 0 || values),
      ({ owner, values }) => [owner, values!.fields.length, ...values!.fields],
    ),
    permit: renewal('renew permits', PERMIT.updateLeases, heldPermits, permitLeases, permitKeys),
  };
}

/** Makes the kinds of lock of one client, each once. */
export function kindsOf(client: ClientContext): (kind: LockDescriptor) => LockKind {
  const made = new Map<LockDescriptor, LockKind>();
  return (kind) => {
    const known = made.get(kind);
    if (known !== undefined) return known;
    // The first look makes their texts: now, and not on the way of a first unlock.
    scriptsOf(kind).forEach(({ sha }) => sha);
    const fresh = clientKind(kind, client);
    made.set(kind, fresh);
    return fresh;
  };
}

/**
 * Makes a kind of lock of one client from its descriptor: here are the commands that every kind sends, there is what
 * differs.
 *
 * @param values - those that a group lock covers
 */
export function clientKind(kind: LockDescriptor, client: ClientContext, values?: GroupValues): LockKind {
  const { executor } = client;
  const { noun, reentrant = true, message = UNLOCK_MESSAGE, tryAcquire = kind.acquire } = kind;
  const { handOver, move, abandon, isLocked, holdCount, portions } = kind;
  const { ownerOf = ownerName } = kind;
  const fields = values?.fields;
  const watch = abandon && client.fairQueues;
  const asksForRepeats = kind.acquire.args.includes('repeated');
  const acquiring = `acquire ${noun}`;
  const releasing = `release ${noun}`;
  const checking = `check ${noun}`;

  function send<A extends string, R>(
    script: Script<string, A, R>,
    what: string,
    { name, rawName, owner = '' }: LockSubject & { readonly owner?: string },
    args: Fresh<Readonly<Record<A, ScriptArg>>>,
    moreArgs?: Fresh<readonly ScriptArg[]>,
    sendRecord?: SendRecord,
  ): Promise<R> {
    const keys = script.keys.length === 1 ? { name: rawName } : kind.keysOf(rawName, owner);
    return executor.run(script, keys, args, { what, name, sendRecord, moreArgs });
  }

  return {
    name: kind.name,
    reentrant,
    half: kind.half,
    values,
    executor,
    waitOrder: kind.waitOrder,
    wakeRule: kind.wakeRule,
    renewal: client.renewals[kind.renewal ?? 'plain'],
    search: { script: kind.find, what: `search for ${noun}s`, moreArgs: fields },
    watch,
    ownerOf: (threadId, id = client.clientId) => ownerOf(id, threadId),
    keysOf: (rawName) => Object.values(kind.keysOf(rawName, 'owner')),
    channelOf: kind.channelOf ?? lockChannel,
    attempt: (request) => {
      const { ownership, acquisition } = request;
      const { owner } = ownership;
      const reply = send(
        // A single attempt must not leave an entry in a queue.
        acquisition.waits ? kind.acquire : tryAcquire,
        acquiring,
        ownership,
        {
          lease: request.leaseMs,
          owner,
          count: request.count,
          message,
          publish: PUBLISH_COMMAND,
          ...kind.attemptArgs?.(request, client.settings),
        } as Readonly<Record<AttemptArg, ScriptArg>>,
        portions?.toAcquire(request),
        acquisition.sendRecord,
      );
      return reentrant ? reply : reply.then((answer) => refuseReentry(answer, ownership));
    },
    release: (request) => {
      const { ownership, sendRecord } = request;
      const args = (): Readonly<Record<ReleaseArg, ScriptArg>> => {
        const { left, remainingMs: remaining } = request.leaves();
        return { message, owner: ownership.owner, left, remaining, publish: PUBLISH_COMMAND };
      };
      const values = portions && (() => portions.toRelease(request));
      const released = send(kind.release, releasing, ownership, args, values, sendRecord);
      if (watch === undefined) return released;
      return released.then((reply) => {
        if (reply.kind === 'released' && reply.queued !== 0) watch.notified(ownership.rawName);
        return reply;
      });
    },
    handOver:
      handOver &&
      (({ ownership, sendRecord }, heir) => {
        const repeated = asksForRepeats && heir.leftover ? '0' : RESEND_FLAG;
        const { owner } = ownership;
        const to = { heir: heir.ownership.owner, lease: heir.leaseMs, repeated } as const;
        const args = { message, owner, ...to, publish: PUBLISH_COMMAND } as const;
        return send(handOver, `hand over ${noun}`, ownership, args, fields, sendRecord);
      }),
    // Not fenced locks, whose token Redis makes, nor those with a queue in Redis.
    passesOn: handOver !== undefined && !asksForRepeats,
    move:
      move &&
      ((lock, owner, heir, lease, sent) => {
        // No other call names both owners: a hold of the heir can only come from an earlier copy or call.
        const args = { owner, heir, lease, repeated: '1' } as const;
        return send(move, `change the owner of ${noun}`, lock, args, undefined, sent);
      }),
    abandon:
      abandon &&
      (async (request, sendRecord) => {
        const { ownership } = request;
        const { owner, rawName } = ownership;
        const args = { message, owner, wait: waitOnWire(request, client.settings), publish: PUBLISH_COMMAND } as const;
        const left = await send(abandon, `leave the queue of ${noun}`, ownership, args, undefined, sendRecord);
        if (left === LEFT_FREE_LOCK) watch!.notified(rawName);
      }),
    forceRelease: async (lock) => {
      const what = `force the release of ${noun}`;
      const args = { message, publish: PUBLISH_COMMAND } as const;
      const there = await send(kind.forceRelease, what, lock, args, fields);
      if (there) watch?.notified(lock.rawName);
      return there;
    },
    isLocked: async (lock) => {
      if (isLocked !== undefined) return send(isLocked, checking, lock, {}, fields);
      // EXISTS, which Redisson uses, would take a key of another type for a lock.
      return Number(await executor.call('hlen', [lock.rawName], { what: checking, name: lock.name })) > 0;
    },
    holdCount: async (lock, owner) => {
      if (holdCount !== undefined) return send(holdCount, checking, lock, { owner }, fields);
      return Number(await executor.call('hget', [lock.rawName, owner], { what: checking, name: lock.name }));
    },
    remainTimeToLive: (lock) => send(lockTimeToLive, checking, lock, {}),
  };
}

/** @throws IllegalMonitorStateError if the script found that the thread holds the lock already */
function refuseReentry(reply: AcquireReply, { rawName, threadId, name }: Ownership): AcquireReply {
  if (!reply.acquired && reply.reentry) throw IllegalMonitorStateError.nonReentrant(rawName, threadId, name);
  return reply;
}
