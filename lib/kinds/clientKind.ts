import type { CommandExecutor, SendRecord } from '../connection/pending/CommandExecutor';
import { IllegalMonitorStateError } from '../errors';
import { ACQUIRED, type AcquireReply, type NonReentrantReply, type ReleaseReply } from '../scripts/replies';
import { PUBLISH_COMMAND, RESEND_FLAG, type Script, type ScriptArg } from '../scripts/Script';
import { ownerName } from '../util/names';
import { lockWakeRule } from '../waiters/WaitQueue';
import type { GroupValues, Renewable, Renewal, Renewed } from '../watchdog/Ownership';
import { LEFT_FREE_LOCK } from './fairScripts';
import { renewValues } from './groupScripts';
import type { LockDescriptor, RenewalFamily } from './Kind';
import type { AttemptRequest, Handover, LockKind, QueueWatch } from './LockKind';
import { renewReadLocks } from './read';
import { leasesOf, PERMIT, permitIds, updatePermitLeases } from './permitScripts';
import { readKeyPrefix } from './readWrite';
import { lockChannel, UNLOCK_MESSAGE } from './reentrant';
import { findHolds, lockTimeToLive, renewLocks } from './reentrantScripts';

/** How the holds of a client are renewed. */
export type Renewals = Readonly<Record<RenewalFamily, Renewal>>;

/** What the kinds of one client have in common. */
export interface KindsClient {
  readonly id: string;
  readonly executor: CommandExecutor;
  readonly renewals: Renewals;
  /** How long a waiter without limit keeps its place in the queue of a fair lock, in ms. */
  readonly fairLockWaitTimeout: number;
  /** Notified of each fair lock that becomes free while others wait. */
  readonly fairQueues: QueueWatch;
}

/** What a command concerns. */
interface Subject {
  readonly rawName: string;
  readonly owner: string;
  readonly name: string;
  readonly sendRecord?: SendRecord | undefined;
}

/** The holder had lost the lock, so the next waiter got nothing and makes its own attempt. */
const NOT_HANDED: AcquireReply = Object.freeze({ acquired: false, ttl: 0 });

/**
 * All families of renewals: of locks with one owner field in one hash (Redisson: LockTask); of read locks, whose owners
 * have keys of their holds besides (ReadLockTask); of group locks, all sets of values of each owner (Redisson renews
 * only the first set); of permits that are held, all ids of a hold together.
 *
 * @param around - what the client does around each of them
 */
export function renewalsOf(executor: CommandExecutor, around: (renewal: Renewal) => Renewal): Renewals {
  const batchOf = ({ rawName }: Renewable): number => executor.slotOf(rawName);
  const renewal = (renew: Renewal['renew']): Renewal => around({ renew, batchOf });
  function run<R>(
    script: Script<never, 'lease', R>,
    what: string,
    lease: number,
    moreKeys: readonly string[],
    moreArgs: readonly ScriptArg[],
  ): Promise<R> {
    return executor.run(script, {}, { lease }, { what, moreKeys, moreArgs });
  }
  return {
    plain: renewal((batch, leaseMs) => run(renewLocks, 'renew locks', leaseMs, batch.map(keyOf), batch.map(fieldOf))),
    read: renewal(async (batch, leaseMs) => {
      // The script wants the readers by name, but the caller needs the replies in the order of the batch.
      const readersOf = new Map<string, Renewable[]>();
      for (const one of batch) {
        const readers = readersOf.get(one.rawName);
        if (readers === undefined) readersOf.set(one.rawName, [one]);
        else readers.push(one);
      }
      const byName = [...readersOf];
      const keys = byName.flatMap(([rawName]) => [rawName, readKeyPrefix(rawName)]);
      const owners = byName.flatMap(([, readers]) => [readers.length, ...readers.map(fieldOf)]);
      const alive = await run(renewReadLocks, 'renew read locks', leaseMs, keys, owners);
      const answers = new Map(byName.flatMap(([, readers]) => readers).map((one, i) => [one, alive[i] === true]));
      return batch.map((one) => answers.get(one) === true);
    }),
    group: renewal(async (batch, leaseMs) => {
      const sets = batch.flatMap(({ owner, values }) => [owner, values!.fields.length, ...values!.fields]);
      const gone = await run(renewValues, 'renew group locks', leaseMs, batch.map(keyOf), sets);
      return gone.map((values): Renewed => values.length === 0 || values);
    }),
    permit: renewal(async (batch, lease) => {
      const leases = batch.map(({ rawName, values }) => leasesOf(PERMIT.keysOf(rawName), permitIds(values!.fields)));
      const alive = await executor.run(
        updatePermitLeases,
        {},
        { lease, renewal: 1, publish: PUBLISH_COMMAND },
        {
          what: 'renew permits',
          moreKeys: leases.flatMap(({ moreKeys }) => moreKeys),
          moreArgs: leases.flatMap(({ moreArgs }) => moreArgs),
        },
      );
      let at = 0;
      return batch.map(({ values }) => {
        at += values!.fields.length;
        return alive.slice(at - values!.fields.length, at).every((one) => one);
      });
    }),
  };
}

function keyOf({ rawName }: Renewable): string {
  return rawName;
}

function fieldOf({ owner }: Renewable): string {
  return owner;
}

/** Makes the kinds of lock of one client, each once. */
export function kindsOf(client: KindsClient): (kind: LockDescriptor) => LockKind {
  const made = new Map<LockDescriptor, LockKind>();
  return (kind) => {
    const known = made.get(kind) ?? clientKind(kind, client);
    made.set(kind, known);
    return known;
  };
}

/**
 * Makes a kind of lock of one client from its descriptor: here are the commands that every kind sends, there is what
 * differs.
 *
 * @param values - those that a group lock covers
 */
export function clientKind(kind: LockDescriptor, client: KindsClient, values?: GroupValues): LockKind {
  const { executor } = client;
  const { noun, reentrant = true, message = UNLOCK_MESSAGE, tryAcquire = kind.acquire, find = findHolds } = kind;
  const { handOver, move, abandon, isLocked, holdCount, portions } = kind;
  const { ownerOf = ownerName } = kind;
  const fields = values?.fields;
  const watch = abandon && client.fairQueues;
  const asksForRepeats = kind.acquire.args.includes('repeated');
  const acquiring = `acquire ${noun}`;
  const releasing = `release ${noun}`;
  const looking = `look at ${noun}`;

  function send<A extends string, R>(
    script: Script<string, A, R>,
    what: string,
    { rawName, owner, name, sendRecord }: Subject,
    args: Readonly<Record<A, ScriptArg>>,
    moreArgs?: readonly ScriptArg[],
  ): Promise<R> {
    const keys = script.keys.length === 1 ? { name: rawName } : kind.keysOf(rawName, owner);
    return executor.run(script, keys, args, { what, name, sendRecord, moreArgs });
  }

  /** All commands of one acquisition must send the same number: it is added to scores and subtracted again. */
  function waitOnWire({ waitMs }: AttemptRequest): number {
    // A whole number: Java's scores are.
    return waitMs > 0 && waitMs !== Infinity ? Math.ceil(waitMs) : client.fairLockWaitTimeout;
  }

  return {
    name: kind.name,
    reentrant,
    values,
    executor,
    waitOrder: kind.waitOrder,
    wakeRule: kind.wakeRule ?? lockWakeRule,
    renewal: client.renewals[kind.renewal ?? 'plain'],
    search: {
      batchOf: (key) => executor.slotOf(key),
      find: (places) => {
        const moreKeys = places.map(({ key }) => key);
        const members = places.map(({ member }) => member);
        const moreArgs = fields === undefined ? members : [...members, ...fields];
        return executor.run(find, {}, {}, { what: `look for ${noun}s`, moreKeys, moreArgs });
      },
    },
    watch,
    ownerOf: (threadId, id = client.id) => ownerOf(id, threadId),
    keysOf: (rawName) => Object.values(kind.keysOf(rawName, 'owner')),
    channelOf: kind.channelOf ?? lockChannel,
    attempt: (request) => {
      const { owner } = request;
      const reply = send(
        // A single attempt must not leave an entry in a queue.
        request.queues && request.waitMs > 0 ? kind.acquire : tryAcquire,
        acquiring,
        request,
        {
          lease: request.leaseMs,
          owner,
          writer: `${owner}:write`,
          count: request.count,
          repeated: asksForRepeats ? repeatFlag(request) : '0',
          wait: waitOnWire(request),
          slept: request.sleptMs,
          message,
          publish: PUBLISH_COMMAND,
        },
        portions?.toAcquire(request),
      );
      return reentrant ? (reply as Promise<AcquireReply>) : reply.then((answer) => refuseReentry(answer, request));
    },
    release: (request) => {
      const { owner, left, remainingMs: remaining } = request;
      const args = { message, owner, left, remaining, publish: PUBLISH_COMMAND } as const;
      const released = send(kind.release, releasing, request, args, portions?.toRelease(request));
      if (watch === undefined) return released;
      return released.then((reply) => {
        if (reply.kind === 'released' && reply.queued !== 0) watch.notified(request.rawName);
        return reply;
      });
    },
    handOver:
      handOver &&
      ((from, heir) => {
        const repeated = asksForRepeats && heir.leftover ? '0' : RESEND_FLAG;
        const args = { owner: from.owner, heir: heir.owner, lease: heir.leaseMs, repeated } as const;
        return handedTo(send(handOver, `hand over ${noun}`, from, args));
      }),
    move:
      move &&
      ((from, heir, lease) => {
        const args = { owner: from.owner, heir, lease, repeated: RESEND_FLAG } as const;
        return send(move, `change the owner of ${noun}`, from, args);
      }),
    abandon:
      abandon &&
      (async (request, sendRecord) => {
        const { rawName, owner, name } = request;
        const args = { message, owner, wait: waitOnWire(request), publish: PUBLISH_COMMAND } as const;
        const left = await send(abandon, `leave the queue of ${noun}`, { rawName, owner, name, sendRecord }, args);
        if (left === LEFT_FREE_LOCK) watch!.notified(rawName);
      }),
    forceRelease: async (rawName, name) => {
      const what = `force the release of ${noun}`;
      const args = { message, publish: PUBLISH_COMMAND } as const;
      const there = await send(kind.forceRelease, what, { rawName, owner: '', name }, args, fields);
      if (there) watch?.notified(rawName);
      return there;
    },
    isLocked: async (rawName, name) => {
      if (isLocked !== undefined) return send(isLocked, looking, { rawName, owner: '', name }, {}, fields);
      // EXISTS, which Redisson uses, would take a key of another type for a lock.
      return Number(await executor.call('hlen', [rawName], { what: looking, name })) > 0;
    },
    holdCount: async (rawName, owner, name) => {
      if (holdCount !== undefined) return send(holdCount, looking, { rawName, owner, name }, { owner }, fields);
      return Number(await executor.call('hget', [rawName, owner], { what: looking, name }));
    },
    remainTimeToLive: (rawName, name) => send(lockTimeToLive, looking, { rawName, owner: '', name }, {}),
  };
}

/**
 * Whether a hold that the script finds can only come from this acquisition. (Whether there may be a leftover costs a
 * search, so only those scripts are told that ask.)
 */
function repeatFlag({ repeated, leftover }: AttemptRequest): '0' | '1' | typeof RESEND_FLAG {
  if (leftover) return '0';
  return repeated ? '1' : RESEND_FLAG;
}

/** @throws IllegalMonitorStateError if the script found that the thread holds the lock already */
function refuseReentry(reply: NonReentrantReply, { rawName, threadId, name }: AttemptRequest): AcquireReply {
  if ('reentry' in reply) throw IllegalMonitorStateError.nonReentrant(rawName, threadId, name);
  return reply;
}

/** Derives the results of a hand-over for both sides from its command. */
function handedTo(released: Promise<ReleaseReply>): Handover {
  const acquired = released.then((reply): AcquireReply => {
    if (reply.kind !== 'handed') return NOT_HANDED;
    return reply.token === undefined ? ACQUIRED : { acquired: true, token: reply.token };
  });
  return { released, acquired };
}
