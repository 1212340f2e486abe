import type { Settings } from '../../config/Settings';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { CommandError } from '../../errors';
import { REFUSALS } from '../inspection/refusals';
import { fieldsOf } from '../inspection/servers';

/** The reply of a server, or the reason why it gave no value. */
export type Answer<T> = { readonly value: T } | { readonly refusal: string };

/** Server settings that the checks read, one by one: a request for all settings would return passwords, too. */
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

/** A server setting that the checks read. */
export type ServerSetting = (typeof SETTINGS)[number];

/** Number of round trips per measurement. */
const PINGS = 5;

/** A server that holds locks. Each has its own executor, so that no other server answers for it. */
export interface Server {
  /** `host:port` on a cluster, else empty. */
  readonly address: string;
  /** The hash tag that puts a key on this server; empty if it is the only server, or has no slot. */
  readonly tag: string;
  readonly executor: CommandExecutor;
}

/** What the checks know about one server. */
export interface ServerFacts extends Server {
  /** Sends a command to this server. */
  readonly ask: (command: string, args: readonly (string | number)[]) => Promise<Answer<unknown>>;
  /** Median time of a round trip, in ms. */
  readonly roundTripMs: Answer<number>;
  /** The fields of INFO. */
  readonly info: Answer<ReadonlyMap<string, string>>;
  readonly settings: ReadonlyMap<ServerSetting, Answer<string>>;
  /** How far its clock is ahead of ours, in ms, and the possible error of that value, in ms. */
  readonly clock: Answer<{ readonly aheadMs: number; readonly blurMs: number }>;
}

/** The input of all checks. */
export interface Patient {
  readonly settings: Settings;
  /** A lock name from the user, to check rights with. */
  readonly name: string | undefined;
}

/** A field of INFO. @returns `undefined` if INFO was refused, or has no such field */
export function infoOf({ info }: ServerFacts, field: string): string | undefined {
  return 'value' in info ? info.value.get(field) : undefined;
}

/** A setting of the server. @returns `undefined` if CONFIG was refused */
export function settingOf({ settings }: ServerFacts, name: ServerSetting): string | undefined {
  const answer = settings.get(name);
  return answer !== undefined && 'value' in answer ? answer.value : undefined;
}

/** Sends a server all requests of the checks at once, so that a slow server causes its delay only once. */
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

/** @returns the reply to a command, or the text of its error, which contains no secret */
export async function answer<T>(asked: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await asked };
  } catch (error) {
    return { refusal: textOf(error) };
  }
}

/** Whether an error shows that a server is within reach: one that refuses locks may refuse PING, too (MISCONF). */
export function isAnswer(refusal: string): boolean {
  const [code = ''] = refusal.split(' ', 1);
  return code !== 'NOPERM' && code in REFUSALS;
}

/** The text of an error: that of the server if it has replied. */
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
    if ('refusal' in reply && !isAnswer(reply.refusal)) return reply;
    times.push(performance.now() - startedAt);
  }
  return { value: times.sort((a, b) => a - b)[Math.floor(PINGS / 2)]! };
}

/** The quickest of several requests gives the smallest error. */
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

/** CONFIG GET returns pairs, or an object if ioredis knows the command. */
function settingIn(reply: Answer<unknown>, name: string): Answer<string> {
  if ('refusal' in reply) return reply;
  const { value } = reply;
  const found = Array.isArray(value) ? (value as string[])[1] : (value as Record<string, string> | null)?.[name];
  return found === undefined ? { refusal: 'the server has no such setting' } : { value: String(found) };
}
