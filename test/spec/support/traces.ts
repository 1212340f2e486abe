import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { bundle, type Mutation } from '../../simulation/bundle';
import { type Trace, type WorldKind, WORLDS } from '../../simulation/traces/worldKinds';
import type { LockEvent } from '../../simulation/workload/Events';
import { check, SPEC } from './tlc';

export { type Trace, type WorldKind, WORLDS };

const PROGRAM = path.resolve(__dirname, '..', '..', 'simulation', 'traces', 'main.ts');
/** The largest thread id that a caller gives. */
const LARGEST_GIVEN = 2 ** 32;
const LARGEST_OUTPUT = 256 * 1024 * 1024;

/** Runs the worlds of some seeds. @param mutation - how lib is broken; default: it is as it is */
export async function tracesOf(world: WorldKind, first: number, count: number, mutation?: Mutation): Promise<Trace[]> {
  const file = await bundle(mutation, PROGRAM);
  try {
    const args = [file, '--world', world, '--first', String(first), '--count', String(count)];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      maxBuffer: LARGEST_OUTPUT,
    });
    if (status !== 0) throw new Error(`the worlds do not run: ${stderr}`);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Trace);
  } finally {
    fs.rmSync(file, { force: true });
  }
}

/** What TLC says of a trace. */
export interface Finding {
  readonly accepted: boolean;
  /** Its events up to the one that the specification does not allow, as TLC reads them. */
  readonly upTo: readonly string[];
}

/** Has TLC look for a way through each trace, in one run. */
export async function checkTraces(traces: readonly Trace[]): Promise<Finding[]> {
  const config = fs.readFileSync(path.join(SPEC, 'Trace.cfg'), 'utf8');
  const threads = new Map<string, string>();
  const told = traces.map((trace) => translate(trace, threads));
  const { output } = await check('Trace', config, {
    'TraceData.tla': dataModule(
      told,
      traces.map(({ local }) => local),
      threads,
    ),
  });
  const reached = new Map<number, number>();
  for (const [, trace, at] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g)) {
    reached.set(Number(trace), Math.max(Number(at), reached.get(Number(trace)) ?? 0));
  }
  return told.map((events, i) => {
    const next = reached.get(i + 1) ?? 0;
    return { accepted: next === events.length + 1, upTo: events.slice(0, next) };
  });
}

/** Where a command was sent. */
interface Sent {
  readonly link: number;
  readonly command: Readonly<Record<string, string | number>>;
}

/** The events as records of TLA+. @param threads - the process of each thread, which this adds to */
function translate({ events, endedAt }: Trace, threads: Map<string, string>): string[] {
  const processes = new Map<string, string>();
  for (const event of events) {
    if (event.event !== 'send') continue;
    for (const owner of [event.owner, event.heir ?? event.owner]) {
      if (!isTicket(owner)) processes.set(clientOf(owner), event.process);
    }
  }
  const attached = new Map<string, string>();
  const nameOf = (owner: string): string | undefined => {
    if (isTicket(owner)) return 'ticket';
    const process = processes.get(clientOf(owner));
    if (process === undefined) return undefined;
    let id = owner.slice(owner.lastIndexOf(':') + 1);
    // Lib counts those that it gives on, from world to world.
    if (Number(id) > LARGEST_GIVEN) {
      id = attached.get(owner) ?? `new${attached.size + 1}`;
      attached.set(owner, id);
    }
    const name = `${process}.${id}`;
    threads.set(name, process);
    return name;
  };
  const sent = new Map<number, Sent>();
  const used = new Set<number>();
  const closed = new Set<number>();
  const told: string[] = [];
  for (const event of events) {
    const { at } = event;
    switch (event.event) {
      case 'send': {
        const { link, process, kind, count, lease } = event;
        const heir = event.heir === undefined ? 'nobody' : nameOf(event.heir)!;
        const command = { process, kind, owner: nameOf(event.owner)!, heir, count, lease };
        sent.set(event.id, { link, command });
        used.add(link);
        told.push(record({ at, event: 'send', ...command }));
        break;
      }
      case 'run': {
        const { link, command } = sent.get(event.id)!;
        const { result, n } = event;
        told.push(record({ at, event: 'run', ...command, late: closed.has(link), result, n }));
        break;
      }
      case 'read':
        told.push(record({ at, event: 'read', ...sent.get(event.id)!.command }));
        break;
      case 'close':
        // Others carry messages, or have carried nothing yet.
        if (used.has(event.link)) told.push(record({ at, event: 'close', process: event.process }));
        closed.add(event.link);
        break;
      case 'failover': {
        const { owner, holds, ttl } = event;
        const name = owner === undefined ? 'nobody' : nameOf(owner)!;
        told.push(record({ at, event: 'failover', owner: name, holds, ttl }));
        break;
      }
      case 'enter':
      case 'leave':
      case 'quit': {
        // A client that has sent nothing has no thread here.
        const owner = nameOf(event.owner);
        if (owner !== undefined) told.push(record({ at, event: event.event, owner }));
        break;
      }
    }
  }
  return [...told, record({ at: endedAt, event: 'end' })];
}

/** The client id in the owner of a detached hold is a UUID of version 8. */
function isTicket(owner: string): boolean {
  return owner[14] === '8';
}

function clientOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}

function record(fields: Readonly<Record<string, string | number | boolean>>): string {
  const text = (value: string | number | boolean): string =>
    typeof value === 'boolean' ? String(value).toUpperCase() : JSON.stringify(value);
  return `[${Object.entries(fields)
    .map(([name, value]) => `${name} |-> ${text(value)}`)
    .join(', ')}]`;
}

function dataModule(
  traces: readonly (readonly string[])[],
  local: readonly boolean[],
  threads: ReadonlyMap<string, string>,
): string {
  const names = [...threads.keys()].sort();
  const cases = names.map((name) => `t = ${JSON.stringify(name)} -> ${JSON.stringify(threads.get(name))}`);
  return [
    '---- MODULE TraceData ----',
    'EXTENDS Sequences',
    `ThreadsOfTraces == {${names.map((name) => JSON.stringify(name)).join(', ')}}`,
    `ProcessOfThread == [t \\in ThreadsOfTraces |-> CASE ${cases.join(' [] ')}]`,
    `Local == <<${local.map((one) => String(one).toUpperCase()).join(', ')}>>`,
    `Traces == <<\n${traces.map((events) => `<<\n  ${events.join(',\n  ')}>>`).join(',\n')}\n>>`,
    '====',
    '',
  ].join('\n');
}

/**
 * Makes a trace by hand. Threads are called by their process (`p0`) and a number: the first one by its process alone.
 */
export class Written {
  readonly events: LockEvent[] = [];
  readonly #local: boolean;
  #ids = 0;
  readonly #links = new Map<string, number>();
  #link = 0;

  /** @param local - whether locks are passed on before Redis knows */
  constructor(local = false) {
    this.#local = local;
  }

  /** @returns the number of the command */
  send(
    at: number,
    thread: string,
    kind: 'acquire' | 'release' | 'renew' | 'move',
    { lease = 0, count = 0, heir }: { lease?: number; count?: number; heir?: string } = {},
  ): number {
    const [process = ''] = thread.split(':');
    const command = { id: this.#ids++, kind, lock: 'x', owner: ownerOf(thread), count, lease };
    const link = this.#links.get(process) ?? ++this.#link;
    this.#links.set(process, link);
    const to = heir === undefined ? {} : { heir: ownerOf(heir) };
    this.events.push({ at, event: 'send', link, process, ...command, ...to });
    return command.id;
  }

  run(at: number, id: number, result: 'yes' | 'no' | 'gone' | 'kept', n = 1): this {
    this.events.push({ at, event: 'run', id, result, n });
    return this;
  }

  read(at: number, id: number): this {
    this.events.push({ at, event: 'read', id });
    return this;
  }

  /** The client gives its connection up. */
  close(at: number, process: string): this {
    this.events.push({ at, event: 'close', link: this.#links.get(process)!, process });
    this.#links.delete(process);
    return this;
  }

  /** Another server takes the place of the one that has died. @param thread - who has the lock then */
  failOver(at: number, thread?: string, ttl = 0): this {
    const [owner, holds] = thread === undefined ? [undefined, 0] : [ownerOf(thread), 1];
    this.events.push({ at, event: 'failover', owner, holds, ttl });
    return this;
  }

  tell(at: number, event: 'enter' | 'leave' | 'quit', thread: string): this {
    this.events.push({ at, event, owner: ownerOf(thread), lock: 'x' });
    return this;
  }

  end(endedAt: number): Trace {
    return { seed: 0, events: this.events, local: this.#local, endedAt };
  }
}

function ownerOf(thread: string): string {
  return thread.includes(':') ? thread : `${thread}:1`;
}
