import type { Settings } from '../../config/Settings';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { CommandError } from '../../errors';

/** What a server said, or why it did not. */
export type Answer<T> = { readonly value: T } | { readonly refusal: string };

/** Settings of a server that are asked for, one by one: all of them together would have its passwords among them. */
const SETTINGS = [
  'maxmemory',
  'maxmemory-policy',
  'appendonly',
  'appendfsync',
  'save',
  'min-replicas-to-write',
  'client-output-buffer-limit',
  'timeout',
  'tcp-keepalive',
] as const;

/** A setting of a server that is asked for. */
export type ServerSetting = (typeof SETTINGS)[number];

/** So many round trips are measured. */
const PINGS = 5;

/** A server that holds locks, asked directly, so that none answers for another. */
export interface Server {
  /** `host:port` on a cluster, else empty. */
  readonly address: string;
  /** What a key has in braces to be on this server; empty where there is only one, or where it has no slot. */
  readonly tag: string;
  readonly executor: CommandExecutor;
}

/** What is known of one server. */
export interface ServerFacts extends Server {
  /** Sends a command to this server. */
  readonly ask: (command: string, args: readonly (string | number)[]) => Promise<Answer<unknown>>;
  /** How long a round trip took, in ms: the middle one of some. */
  readonly roundTripMs: Answer<number>;
  /** The fields of INFO. */
  readonly info: Answer<ReadonlyMap<string, string>>;
  readonly settings: ReadonlyMap<ServerSetting, Answer<string>>;
  /** How much its clock is ahead of ours, in ms, and how much that may be wrong. */
  readonly clock: Answer<{ readonly aheadMs: number; readonly blurMs: number }>;
}

/** What all checks are given. */
export interface Patient {
  readonly settings: Settings;
  /** A name of a lock that the user gave, to check rights with. */
  readonly name: string | undefined;
}

/** A value of INFO. @returns `undefined` where INFO was refused, or has no such field */
export function infoOf({ info }: ServerFacts, field: string): string | undefined {
  return 'value' in info ? info.value.get(field) : undefined;
}

/** A setting of the server. @returns `undefined` where CONFIG was refused */
export function settingOf({ settings }: ServerFacts, name: ServerSetting): string | undefined {
  const answer = settings.get(name);
  return answer !== undefined && 'value' in answer ? answer.value : undefined;
}

/** Asks a server all that the checks need, at once: a slow one takes its time once. */
export async function gatherFacts({ address, tag, executor }: Server): Promise<ServerFacts> {
  const ask: ServerFacts['ask'] = (command, args) =>
    answer(executor.call(command, args, { routeBy: tag, what: `ask for ${command.toUpperCase()}` }));
  const [roundTripMs, info, clock, ...values] = await Promise.all([
    measure(ask),
    ask('info', []),
    askForClock(ask),
    ...SETTINGS.map((name) => ask('config', ['GET', name])),
  ]);
  return {
    address,
    tag,
    executor,
    ask,
    roundTripMs,
    info: 'value' in info ? { value: fieldsOf(String(info.value)) } : info,
    settings: new Map(SETTINGS.map((name, i) => [name, settingIn(values[i]!, name)])),
    clock,
  };
}

/** @returns what came of a command; an error as its text, which holds no secret */
export async function answer<T>(asked: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await asked };
  } catch (error) {
    return { refusal: textOf(error) };
  }
}

/** What an error says: the words of the server where it has answered. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return error instanceof CommandError && cause instanceof Error ? cause.message : error.message;
}

async function measure(ask: ServerFacts['ask']): Promise<Answer<number>> {
  const times: number[] = [];
  for (let i = 0; i < PINGS; i++) {
    const startedAt = performance.now();
    const reply = await ask('ping', []);
    if ('refusal' in reply) return reply;
    times.push(performance.now() - startedAt);
  }
  return { value: times.sort((a, b) => a - b)[Math.floor(PINGS / 2)]! };
}

/** The quickest of some questions tells it best. */
async function askForClock(ask: ServerFacts['ask']): Promise<ServerFacts['clock']> {
  let best: { readonly aheadMs: number; readonly blurMs: number } | undefined;
  for (let i = 0; i < PINGS; i++) {
    const sentAt = Date.now();
    const time = await ask('time', []);
    if ('refusal' in time) return time;
    const blurMs = (Date.now() - sentAt) / 2;
    const [seconds, micros] = time.value as [string, string];
    const aheadMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - sentAt - blurMs;
    if (best === undefined || blurMs < best.blurMs) best = { aheadMs, blurMs };
  }
  return { value: best! };
}

function fieldsOf(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^([^#:\r\n]+):(.*?)\r?$/gm)].map(([, name, value]) => [name!, value!]));
}

/** CONFIG GET answers pairs, or an object where ioredis knows the command. */
function settingIn(reply: Answer<unknown>, name: string): Answer<string> {
  if ('refusal' in reply) return reply;
  const { value } = reply;
  const found = Array.isArray(value) ? (value as string[])[1] : (value as Record<string, string> | null)?.[name];
  return found === undefined ? { refusal: 'the server has no such setting' } : { value: String(found) };
}
