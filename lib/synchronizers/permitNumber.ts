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
  if (saidOf(object.context).has('kept')) return;
  const there = await read().catch(() => permits);
  if (there > permits || (isTotal && there !== permits)) {
    once(object.context, 'kept', () => warnOtherPermits(object.name, there, permits, isTotal ? 'keptIds' : 'kept'));
  }
}

type Warning = 'kept' | 'changed' | 'unset';

/** What each client has been warned of. */
const said = new WeakMap<ClientContext, Set<Warning>>();

function saidOf(context: ClientContext): Set<Warning> {
  let warnings = said.get(context);
  if (warnings === undefined) said.set(context, (warnings = new Set()));
  return warnings;
}

function once(context: ClientContext, warning: Warning, warn: () => void): void {
  const warnings = saidOf(context);
  if (warnings.has(warning)) return;
  warnings.add(warning);
  warn();
}

/** A call that has waited this long (ms) for permits is checked: nobody may ever have set them. */
const SUSPICIOUS_MS = 5_000;

/** A call that waits for permits. */
export interface PermitWait {
  readonly object: RedisObject;
  /** Monotonic time of its check. */
  readonly dueAt: number;
}

/**
 * Warns, once per client, of a call that has waited 5 s for permits of a semaphore that is not there: it may wait for
 * ever, and nothing else would report it. Each call is checked once.
 *
 * One unref'd timer serves all waits of a client, and only while calls wait.
 */
export class PermitWaits {
  static readonly #all = new WeakMap<ClientContext, PermitWaits>();
  readonly #waits = new Set<PermitWait>();
  readonly #alarm = new Alarm(() => this.#check());

  /** Those of a client. */
  static of(context: ClientContext): PermitWaits {
    let waits = PermitWaits.#all.get(context);
    if (waits === undefined) PermitWaits.#all.set(context, (waits = new PermitWaits()));
    return waits;
  }

  /** A call begins to wait; {@link end} must follow. */
  begin(object: RedisObject): PermitWait | undefined {
    if (saidOf(object.context).has('unset')) return undefined;
    const wait = { object, dueAt: performance.now() + SUSPICIOUS_MS };
    this.#waits.add(wait);
    this.#alarm.setBy(wait.dueAt);
    return wait;
  }

  /** Ends the wait of a call. */
  end(wait: PermitWait | undefined): void {
    if (wait !== undefined && this.#waits.delete(wait) && this.#waits.size === 0) this.#alarm.off();
  }

  #check(): void {
    const now = performance.now();
    const names = new Map<string, RedisObject>();
    for (const wait of this.#waits) {
      // They are in the order of their times.
      if (wait.dueAt > now) {
        this.#alarm.set(wait.dueAt);
        break;
      }
      this.#waits.delete(wait);
      names.set(wait.object.keys.name, wait.object);
    }
    for (const object of names.values()) void warnIfUnset(object);
  }
}

async function warnIfUnset({ context, keys, name }: RedisObject): Promise<void> {
  try {
    const there = Number(await context.executor.call('exists', [keys.name], { what: 'look for the semaphore', name }));
    if (there === 0) once(context, 'unset', () => warnUnsetSemaphore(name));
  } catch {
    // The calls that wait get the errors.
  }
}
