import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import type { PermitWait } from '../kinds/ClientContext';
import { SEMAPHORE } from '../kinds/semaphore';
import { PERMIT } from '../kinds/permit';
import type { PermitKeys } from '../kinds/Kind';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { groupBy } from '../util/collections';
import { warnUnsetSemaphore } from '../util/warnings';
import { LongWaits } from '../waiters/LongWaits';
import type { RedisObject } from './RedisObject';

const PUBLISH = { publish: PUBLISH_COMMAND } as const;

/** Sets the number of permits unless there is one. @returns whether there was none */
export async function setFirst(object: RedisObject, permits: number, ttl = 0): Promise<boolean> {
  const isNew = await object.send(SEMAPHORE.trySetPermits, { permits, ttl, ...PUBLISH }, 'set permits of');
  // Permits that are taken are in no number of Redis: only more than there should be are certainly others.
  if (!isNew) void compare(object, permits, async () => object.send(SEMAPHORE.available, {}, 'read permits of'));
  return isNew;
}

/** As {@link setFirst}, for permits with ids. */
export async function setFirstOfIds(object: RedisObject<PermitKeys>, permits: number): Promise<boolean> {
  const isNew = await object.send(PERMIT.trySetPermits, { permits, ttl: 0, ...PUBLISH }, 'set permits of');
  if (!isNew) void compare(object, permits, async () => totalOf(object), true);
  return isNew;
}

/** Sets the number of permits with ids, also where there is another one. */
export async function setAlways(object: RedisObject<PermitKeys>, permits: number): Promise<void> {
  if (await object.send(PERMIT.trySetPermits, { permits, ttl: 0, ...PUBLISH }, 'set permits of')) return;
  const there = await totalOf(object);
  if (there === permits) return;
  await object.send(PERMIT.setPermits, { total: permits, ...PUBLISH }, 'set permits of');
  object.context.warnChangedPermits(object.name, there, permits);
}

function totalOf(object: RedisObject<PermitKeys>): Promise<number> {
  return object.send(PERMIT.total, PUBLISH, 'read permits of');
}

/** Warns, once per client, where there are other permits than the caller has wanted to set. Never rejects. */
async function compare(
  { context, name }: RedisObject,
  permits: number,
  read: () => Promise<number>,
  withIds = false,
): Promise<void> {
  const there = await read().catch(() => permits);
  if (there > permits || (withIds && there !== permits)) context.warnKeptPermits(name, there, permits, withIds);
}

/**
 * The calls of a client that wait for permits. One is warned of that has waited for 5 s while its semaphore is not
 * there: nobody has set its permits.
 */
export function permitWaits(executor: Pick<CommandExecutor, 'call'>): LongWaits<PermitWait> {
  const isThere = async (key: string, name: string): Promise<boolean> =>
    Number(await executor.call('exists', [key], { what: 'check semaphore', name })) > 0;
  return new LongWaits(
    (due, waits) => {
      for (const [key, ofOne] of groupBy(due, (wait) => wait.key)) {
        isThere(key, ofOne[0]!.name).then(
          (there) => ofOne.forEach((wait) => (there ? waits.end(wait) : waits.found(wait))),
          // The calls that wait get the errors.
          () => undefined,
        );
      }
    },
    ({ name }) => warnUnsetSemaphore(name),
  );
}
