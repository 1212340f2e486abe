import { setTimeout } from 'node:timers/promises';
import type { Inspector, ObjectReport } from '../inspection';
import { messageOf } from './exit';
import { say } from './output';
import { processText } from './tables';
import { readableTime } from '../doctor';

/** Delay before the first report, in ms. A free lock is acquired sooner, and nothing is reported. */
const FIRST_LOOK_MS = 200;
/** Time between two checks of the holders, in ms. */
const LOOK_MS = 1_000;

/**
 * Reports the holders of the lock on stderr during the wait, whenever they change.
 * @param ended - aborted when the wait is over
 */
export async function sayWhoHolds(inspector: Inspector, name: string, ended: AbortSignal): Promise<void> {
  let said = '';
  for (let pause = FIRST_LOOK_MS; ; pause = LOOK_MS) {
    await setTimeout(pause, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return;
    const who = await whoHolds(inspector, name);
    // The lock may have been acquired meanwhile.
    if (!ended.aborted && who !== said) say(`waiting for '${name}': ${who}`);
    said = who;
  }
}

/** Reports on stderr why the lock was not acquired. @param waitMs - length of the wait, in ms; 0: no wait */
export async function sayWhyNot(inspector: Inspector, name: string, waitMs: number): Promise<void> {
  const how = waitMs === 0 ? '' : ` within ${readableTime(waitMs)}`;
  say(`'${name}' was not acquired${how}: ${await whoHolds(inspector, name)}`);
}

async function whoHolds(inspector: Inspector, name: string): Promise<string> {
  try {
    return holdersText(await inspector.inspect(name));
  } catch (error) {
    return `who holds it cannot be told: ${messageOf(error)}`;
  }
}

function holdersText({ holders, mode }: ObjectReport): string {
  if (holders.length === 0) return 'nobody holds it now';
  const [first] = holders;
  const more = holders.length === 1 ? '' : `, and ${holders.length - 1} more`;
  const as = mode === undefined ? '' : ` as a ${mode === 'read' ? 'reader' : 'writer'}`;
  if (first!.process.unknownBecause === 'detached')
    return `held by no process: run --at-least keeps it, or a ticket (${first!.owner})`;
  const gone = first!.process.connected === false && first!.process.host === undefined;
  const who = gone ? 'a process that has gone' : processText(first!);
  return `held by ${who} (${first!.owner})${as}${more}`;
}
