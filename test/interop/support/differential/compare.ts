import type { Snapshot } from '../Probe';
import type { Operation } from './operations';
import type { Step } from './trace';

/** A difference this package makes on purpose; the same list is in `docs/interop.md`. */
interface ListedDifference {
  readonly why: string;
  readonly applies: (operation: Operation, java: Step, node: Step, name: string) => boolean;
}

const LISTED: readonly ListedDifference[] = [
  {
    why: 'Java unlocks a fair lock that is free without complaint, whoever asks; here that is an error, as for every lock',
    applies: (operation, java, node) =>
      isCall(operation, /Fair/, 'unlock') && java.result === null && node.result === 'IllegalMonitorState',
  },
  {
    why: 'a writer that comes down to reading wakes readers, and the lock lives as long as its longest read hold',
    applies: (operation, java, node, name) =>
      isCall(operation, /writeLock/, 'unlock') &&
      modeOf(java.keys, name) === 'read' &&
      modeOf(node.keys, name) === 'read',
  },
  {
    why: 'giving a read hold back never shortens the life of the write lock of the same thread',
    applies: (operation, java, node, name) =>
      isCall(operation, /readLock/, 'unlock') &&
      modeOf(java.keys, name) === 'write' &&
      Number(node.keys[name]?.ttl) > Number(java.keys[name]?.ttl),
  },
  {
    why: 'waiters are told when a lease is shortened, so that nobody sleeps past its end',
    applies: (operation, java, node) =>
      (isCall(operation, /Lock/, 'unlock') || isCall(operation, /Permit/, 'updateLeaseTime')) &&
      java.messages.length === 0 &&
      node.messages.length === 1 &&
      JSON.stringify([java.result, java.keys]) === JSON.stringify([node.result, node.keys]),
  },
];

/** What {@link compareTraces} found: nothing, or the first difference that is not listed. */
export interface Comparison {
  readonly difference: { readonly index: number; readonly java: unknown; readonly node: unknown } | undefined;
  /** The listed differences that were met. */
  readonly met: readonly string[];
}

/**
 * Compares step by step. After a listed difference the data of that name may differ, and one thing leads to another, so
 * that name is left out of the rest; every other name is still compared.
 */
export function compareTraces(
  operations: readonly Operation[],
  java: readonly Step[],
  node: readonly Step[],
): Comparison {
  const ignored = new Set<string>();
  const met: string[] = [];
  for (const [index, operation] of operations.entries()) {
    const [expected, actual] = [java[index], node[index]];
    if (expected === undefined || actual === undefined) break;
    const name = nameOf(operation);
    if (isSame(expected, actual, name, ignored)) continue;
    const listed = LISTED.find(({ applies }) => applies(operation, expected, actual, name));
    const others = new Set([...ignored, name]);
    if (listed === undefined || !isSame(expected, actual, name, others)) {
      return {
        difference: { index, java: visible(expected, name, ignored), node: visible(actual, name, ignored) },
        met,
      };
    }
    ignored.add(name);
    met.push(listed.why);
  }
  return { difference: undefined, met };
}

function isSame(java: Step, node: Step, name: string, ignored: ReadonlySet<string>): boolean {
  return JSON.stringify(visible(java, name, ignored)) === JSON.stringify(visible(node, name, ignored));
}

/** A step without what belongs to ignored names. */
function visible(step: Step, name: string, ignored: ReadonlySet<string>): unknown {
  return {
    result: ignored.has(name) ? 'ignored' : step.result,
    messages: step.messages.filter((message) => !ignored.has(baseName(message.split(' ')[0] ?? ''))),
    keys: Object.entries(step.keys).filter(([key]) => !ignored.has(baseName(key))),
  };
}

function nameOf(operation: Operation): string {
  return 'expire' in operation ? operation.expire : String(operation.object[0]?.[1]);
}

/** The name of the object a key or channel belongs to: what is in braces, else all of it. */
function baseName(key: string): string {
  return /\{([^}]*)\}/.exec(key)?.[1] ?? key;
}

function isCall(operation: Operation, object: RegExp, method: string): boolean {
  return 'method' in operation && operation.method === method && object.test(JSON.stringify(operation.object));
}

function modeOf(keys: Snapshot, name: string): string | undefined {
  return (keys[name]?.value as { mode?: string } | undefined)?.mode;
}
