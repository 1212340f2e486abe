import { SEMAPHORE } from '../kinds/semaphore';
import { PERMIT } from '../kinds/permit';
import type { ClientContext } from '../kinds/ClientContext';
import type { PermitKeys } from '../kinds/Kind';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { Alarm } from '../util/Alarm';
import { warnOtherPermits, warnUnsetSemaphore } from '../util/warnings';
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
  once(object.context, 'changed', () => warnOtherPermits(object.name, there, permits, 'changed'));
}

function totalOf(object: RedisObject<PermitKeys>): Promise<number> {
  return object.send(PERMIT.total, PUBLISH, 'read permits of');
}

/** Warns, once per client, where there are other permits than the caller has wanted to set. Never rejects. */
async function compare(
  object: RedisObject,
  permits: number,
  read: () => Promise<number>,
  isTotal = false,
): Promise<void> {
  if (wasSaid(object.context, 'kept')) return;
  const there = await read().catch(() => permits);
  if (there > permits || (isTotal && there !== permits)) {
    once(object.context, 'kept', () => warnOtherPermits(object.name, there, permits, isTotal ? 'keptIds' : 'kept'));
  }
}

/** What each client has been warned of. */
const said = new WeakMap<ClientContext, Set<string>>();

function wasSaid(context: ClientContext, warning: string): boolean {
  return said.get(context)?.has(warning) === true;
}

function once(context: ClientContext, warning: string, warn: () => void): void {
  if (wasSaid(context, warning)) return;
  said.set(context, new Set(said.get(context)).add(warning));
  warn();
}

/** A call that has waited this long (ms) for permits is checked: nobody may ever have set them. */
const SUSPICIOUS_MS = 5_000;

/**
 * A call begins to wait for permits. Warns, once per client, if it has waited for 5 s and the semaphore is not there:
 * it may wait for ever, and nothing else would report it.
 *
 * @returns to be set off when the call waits no longer; its timer is unref'd
 */
export function watchPermitWait(object: RedisObject): Alarm | undefined {
  if (wasSaid(object.context, 'unset')) return undefined;
  const alarm = new Alarm(() => void warnIfUnset(object));
  alarm.set(performance.now() + SUSPICIOUS_MS);
  return alarm;
}

async function warnIfUnset({ context, keys, name }: RedisObject): Promise<void> {
  if (wasSaid(context, 'unset')) return;
  try {
    const there = Number(await context.executor.call('exists', [keys.name], { what: 'check semaphore', name }));
    if (there === 0) once(context, 'unset', () => warnUnsetSemaphore(name));
  } catch {
    // The calls that wait get the errors.
  }
}
