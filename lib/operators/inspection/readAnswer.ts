import {
  type Answer,
  type ClientAnswer,
  type ClientHold,
  type ClientWait,
  type HeldAround,
  type HeldByWaiter,
  MAX_VALUES,
  PAGE_SIZE,
} from '../../introspection/wire';

/** Longer texts are cut: what a client says of itself is printed. */
const MAX_TEXT = 10_000;
/** More locks around one wait are left out. */
const MAX_AROUND = 100;

class NoAnswer extends Error {}

/**
 * Reads an answer. Whoever may publish there can write anything: what is no answer is dropped as a whole.
 * @returns `undefined` for what is none
 */
export function readAnswer(text: string): Answer | undefined {
  try {
    const { id, ...rest } = object(JSON.parse(text));
    return { id: textOf(id), ...clientAnswer(rest) };
  } catch {
    return undefined;
  }
}

function clientAnswer(from: Fields): ClientAnswer {
  const versions = object(from['versions']);
  const eventLoop = object(from['eventLoop']);
  const total = object(from['total']);
  return {
    clientId: textOf(from['clientId']),
    host: textOf(from['host']),
    pid: amount(from['pid']),
    uptimeMs: amount(from['uptimeMs']),
    versions: { node: textOf(versions['node']), ioredisson: textOf(versions['ioredisson']) },
    eventLoop: { delayMs: amount(eventLoop['delayMs']), utilization: amount(eventLoop['utilization']) },
    holds: list(from['holds'], PAGE_SIZE).map(hold),
    waits: list(from['waits'], PAGE_SIZE).map(wait),
    total: { holds: amount(total['holds']), waits: amount(total['waits']) },
  };
}

function hold(from: Fields): ClientHold {
  const { leaseMs } = from;
  return {
    ...heldAround(from),
    kind: textOf(from['kind']) as ClientHold['kind'],
    threadId: amount(from['threadId']),
    count: amount(from['count']),
    heldMs: amount(from['heldMs']),
    leaseMs: leaseMs === -1 || leaseMs === null ? leaseMs : amount(leaseMs),
    renewals: amount(from['renewals']),
    ...callSite(from),
  };
}

function wait(from: Fields): ClientWait {
  return {
    name: textOf(from['name']),
    key: textOf(from['key']),
    kind: textOf(from['kind']) as ClientWait['kind'],
    callers: amount(from['callers']),
    waitedMs: amount(from['waitedMs']),
    holding: list(from['holding'], MAX_AROUND).map(heldByWaiter),
    ...callSite(from),
  };
}

function heldAround({ name, key, owner, values }: Fields): HeldAround {
  return {
    name: textOf(name),
    key: textOf(key),
    owner: textOf(owner),
    ...(values !== undefined && { values: texts(values) }),
  };
}

function heldByWaiter(from: Fields): HeldByWaiter {
  const { wants } = from;
  return { ...heldAround(from), ...(wants !== undefined && { wants: texts(wants) }) };
}

function callSite({ callSite: line }: Fields): { callSite?: string } {
  return line === undefined ? {} : { callSite: textOf(line) };
}

type Fields = Readonly<Record<string, unknown>>;

function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw new NoAnswer();
  return value as Fields;
}

function list(value: unknown, most: number): readonly Fields[] {
  if (!Array.isArray(value)) throw new NoAnswer();
  return value.slice(0, most).map(object);
}

function texts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new NoAnswer();
  return value.slice(0, MAX_VALUES).map(textOf);
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new NoAnswer();
  return value.slice(0, MAX_TEXT);
}

function amount(value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0)) throw new NoAnswer();
  return value;
}
