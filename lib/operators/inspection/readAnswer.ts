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

/** Longer texts are cut, because the inspector prints what clients send. */
const MAX_TEXT = 10_000;
/** At most this many locks around one wait are kept. */
const MAX_AROUND = 100;

class NoAnswer extends Error {}

/** Reads a value. Throws if the value has another type. */
type Reader<T> = (value: unknown) => T;

/** Readers for the fields of an object. Fields that may be absent use {@link optional}. */
type Fields<T> = { readonly [K in keyof T]-?: Reader<T[K]> };

/** Reads an object. Unknown and absent fields are left out. */
function object<T>(fields: Fields<T>): Reader<T> {
  const known = Object.entries<Reader<unknown>>(fields);
  return (value) => {
    if (typeof value !== 'object' || value === null) throw new NoAnswer();
    const read = known.map(([name, reader]) => [name, reader((value as Record<string, unknown>)[name])] as const);
    return Object.fromEntries(read.filter(([, one]) => one !== undefined)) as T;
  };
}

function optional<T>(reader: Reader<T>): Reader<T | undefined> {
  return (value) => (value === undefined ? undefined : reader(value));
}

function list<T>(reader: Reader<T>, most: number): Reader<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new NoAnswer();
    return value.slice(0, most).map(reader);
  };
}

function text<T extends string>(value: unknown): T {
  if (typeof value !== 'string') throw new NoAnswer();
  return value.slice(0, MAX_TEXT) as T;
}

function amount(value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0)) throw new NoAnswer();
  return value;
}

const HELD: Fields<HeldAround> = {
  name: text,
  key: text,
  owner: text,
  values: optional(list(text, MAX_VALUES)),
};

const HOLD: Fields<ClientHold> = {
  ...HELD,
  kind: text<ClientHold['kind']>,
  threadId: amount,
  count: amount,
  heldMs: amount,
  leaseMs: (value) => (value === -1 || value === null ? value : amount(value)),
  renewals: amount,
  callSite: optional(text),
};

const WAIT: Fields<ClientWait> = {
  name: text,
  key: text,
  kind: text<ClientWait['kind']>,
  callers: amount,
  waitedMs: amount,
  holding: list(object<HeldByWaiter>({ ...HELD, wants: optional(list(text, MAX_VALUES)) }), MAX_AROUND),
  callSite: optional(text),
};

const answer = object<Answer>({
  id: text,
  clientId: text,
  host: text,
  pid: amount,
  uptimeMs: amount,
  versions: object<ClientAnswer['versions']>({ node: text, ioredisson: text }),
  eventLoop: object<ClientAnswer['eventLoop']>({ delayMs: amount, utilization: amount }),
  holds: list(object(HOLD), PAGE_SIZE),
  waits: list(object(WAIT), PAGE_SIZE),
  total: object<ClientAnswer['total']>({ holds: amount, waits: amount }),
});

/**
 * Reads an answer. Any client may publish on the channel: an invalid message is dropped as a whole.
 * @returns `undefined` for an invalid message
 */
export function readAnswer(json: string): Answer | undefined {
  try {
    return answer(JSON.parse(json));
  } catch {
    return undefined;
  }
}
