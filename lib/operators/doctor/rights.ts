import { mapName } from '../../config/validateName';
import { ALL_KINDS, commandsOf, scriptsOf } from '../../kinds/allKinds';
import type { Kind } from '../../kinds/Kind';
import { type Diagnosis, error, ok, type ServerCheck, unknown, warning } from './findings';
import type { Patient, ServerFacts } from './facts';

/** The rights that a user needs for one kind of object. */
export interface NeededRights {
  readonly commands: readonly string[];
  /** The keys of an object with this name. */
  readonly keys: (key: string) => readonly string[];
  readonly channels: (key: string) => readonly string[];
}

const OWNER = '00000000-0000-4000-8000-000000000000:1';

const PUBSUB = ['publish', 'subscribe', 'unsubscribe'];

/**
 * Rights that every client needs, and those that some deployments also need. A test compares them with
 * docs/security.md.
 */
export const BASE_RIGHTS = {
  connection: 'info ping client|setname',
  replicas: 'wait',
  cluster: 'cluster|slots cluster|info',
  classic: 'pubsub|numsub',
  sharded: 'spublish ssubscribe sunsubscribe pubsub|shardnumsub',
} as const;

/** Rights of each kind, by the blocks of docs/security.md: kinds in the same block share one entry. */
export const KIND_RIGHTS: Readonly<Record<string, NeededRights>> = Object.fromEntries(
  ALL_KINDS.map(blockOf).map((block) => [block, needsOf(ALL_KINDS.filter((kind) => blockOf(kind) === block))]),
);

/** The block of docs/security.md with the rights of a kind. */
export function blockOf({ rights, report }: Kind): string {
  return rights ?? report;
}

function needsOf(kinds: readonly Kind[]): NeededRights {
  const scripts = kinds.flatMap(scriptsOf);
  const roles = new Set(scripts.flatMap(({ realKeys }) => realKeys));
  const tells = kinds.some(({ channelOf }) => channelOf !== undefined);
  const commands = [
    'eval',
    'evalsha',
    ...commandsOf(...kinds),
    ...kinds.flatMap((kind) => kind.commands),
    ...(tells ? PUBSUB : []),
  ];
  const places = (of: (kind: Kind) => readonly string[]): readonly string[] => [...new Set(kinds.flatMap(of))];
  return {
    commands: [...new Set(commands)].sort(),
    keys: (key) =>
      places((kind) => {
        const named = Object.entries(kind.keysOf(key, OWNER));
        return named.filter(([role]) => role === 'name' || roles.has(role)).map(([, place]) => place);
      }),
    channels: (key) => places(({ channelOf }) => (channelOf === undefined ? [] : [channelOf(key, OWNER)])),
  };
}

/** The advice for a missing right. */
export const RULES_ADVICE = 'grant the user the rules in docs/security.md for the kinds that it uses';
/** Rights that a client can work without, and what it loses then. */
const COSTS: Readonly<Record<string, string>> = {
  '+client|setname': 'its connections have no names: an inspector cannot tell which process holds a lock',
  '+info': 'the client cannot tell that a server is still loading its data, or that it was replaced',
};
/** A lock name that no application uses. */
const NO_NAME = 'ioredisson:doctor';

/** What `ACL DRYRUN` reports as missing for a call; `undefined`: the call is allowed. */
type Missing = 'command' | 'key' | 'channel' | 'arguments' | undefined;

export const rights: ServerCheck = {
  why: 'A missing right shows only when its command is first needed: at the first wait, or at a release.',
  async examine(server, patient) {
    const who = await server.ask('acl', ['WHOAMI']);
    const user = 'value' in who ? String(who.value) : (patient.settings.username ?? 'default');
    try {
      return await examineUser(new Examiner(server, user), server, patient);
    } catch (failure) {
      const advice = 'use Redis 7 and allow the user acl|dryrun; or try each kind once as this user';
      return unknown(`ACL DRYRUN: ${(failure as Error).message}`, advice);
    }
  },
};

async function examineUser(examiner: Examiner, server: ServerFacts, patient: Patient): Promise<Diagnosis> {
  const { settings, name } = patient;
  const isCluster = settings.topology.kind === 'cluster';
  const key = mapName(name ?? NO_NAME, settings.nameMapper);
  const isSharded = isCluster && (await sharded(server, settings.shardedSubscriptionMode));
  const replicated = ['sentinel', 'masterSlave', 'replicated'].includes(settings.topology.kind);
  const base = [
    BASE_RIGHTS.connection,
    ...(replicated && settings.checkLockSyncedSlaves ? [BASE_RIGHTS.replicas] : []),
    ...(isCluster ? [BASE_RIGHTS.cluster] : []),
    ...(settings.database === 0 ? [] : ['select']),
  ];
  const missing = await examiner.commands(base.join(' ').split(' '), key);
  const vital = missing.filter((right) => !(right in COSTS));
  if (vital.length > 0) return error(`the user lacks ${vital.join(' ')}, which every client needs`, RULES_ADVICE);

  const lacking: string[] = [];
  let places = 0;
  for (const [kind, needed] of Object.entries(KIND_RIGHTS)) {
    const listens = needed.commands.includes('subscribe');
    const own = needed.commands.filter((command) => !isSharded || !PUBSUB.includes(command));
    const more = isCluster && listens ? BASE_RIGHTS[isSharded ? 'sharded' : 'classic'].split(' ') : [];
    const commands = [...own, ...more];
    const keys = await examiner.places((place) => ['eval', '', 1, place], needed.keys(key), '~');
    const publish = isSharded ? 'spublish' : 'publish';
    const channels = await examiner.places((place) => [publish, place, ''], needed.channels(key), '&');
    places += keys.length + channels.length;
    const all = [...(await examiner.commands(commands, key)), ...(name === undefined ? [] : [...keys, ...channels])];
    if (all.length > 0) lacking.push(`${kind} (${all.join(' ')})`);
  }
  if (lacking.length > 0) {
    const found = `the user lacks what these kinds need: ${lacking.join(', ')}`;
    return lacking.length === Object.keys(KIND_RIGHTS).length
      ? error(found, RULES_ADVICE)
      : warning(found, RULES_ADVICE);
  }
  if (missing.length > 0) {
    const found = missing.map((right) => `${right} (${COSTS[right]})`).join('; ');
    return warning(`locks work, but the user lacks ${found}`, RULES_ADVICE);
  }
  if (places > 0 && name === undefined) {
    const advice = 'check one of your own names: ioredisson doctor <name>';
    return unknown('all commands are allowed; keys and channels are limited to patterns', advice);
  }
  return ok(
    name === undefined
      ? 'all commands, keys and channels are allowed'
      : 'everything that locks of that name need is allowed',
  );
}

async function sharded(server: ServerFacts, mode: Patient['settings']['shardedSubscriptionMode']): Promise<boolean> {
  return mode === 'ON' || (mode === 'AUTO' && 'value' in (await server.ask('pubsub', ['SHARDNUMSUB', '0'])));
}

/** Asks the server what a user may do. Throws if the server refuses the question. */
class Examiner {
  readonly #server: ServerFacts;
  readonly #user: string;
  readonly #known = new Map<string, Promise<boolean>>();

  constructor(server: ServerFacts, user: string) {
    this.#server = server;
    this.#user = user;
  }

  /** @returns the commands that the user may not send, as ACL rules */
  async commands(commands: readonly string[], key: string): Promise<readonly string[]> {
    const allowed = await Promise.all(
      commands.map((command) => {
        const known = this.#known.get(command) ?? this.#mayRun(command, key);
        this.#known.set(command, known);
        return known;
      }),
    );
    return commands.filter((_command, i) => !allowed[i]).map((command) => `+${command}`);
  }

  /** `ACL DRYRUN` rejects a wrong number of arguments, so this tries each number from 0 to 4. */
  async #mayRun(command: string, key: string): Promise<boolean> {
    const rest = [key, 1, 1, 1];
    const calls = [0, 1, 2, 3, 4].map((count) => [...command.split('|'), ...rest.slice(0, count)]);
    const missing = await Promise.all(calls.map((call) => this.#ask(call)));
    return missing.find((one) => one !== 'arguments') !== 'command';
  }

  /**
   * @param callOf - builds a call that uses one key or channel
   * @returns the keys or channels that the user may not use, as ACL rules
   */
  async places(
    callOf: (place: string) => readonly (string | number)[],
    places: readonly string[],
    sign: '~' | '&',
  ): Promise<readonly string[]> {
    const missing = await Promise.all(places.map((place) => this.#ask(callOf(place))));
    return places.filter((_place, i) => missing[i] === 'key' || missing[i] === 'channel').map((place) => sign + place);
  }

  async #ask(call: readonly (string | number)[]): Promise<Missing> {
    const reply = await this.#server.ask('acl', ['DRYRUN', this.#user, ...call]);
    if ('refusal' in reply) {
      if (/wrong number of arguments/.test(reply.refusal)) return 'arguments';
      throw new Error(reply.refusal);
    }
    const text = String(reply.value);
    if (text === 'OK') return undefined;
    if (/\bkeys?\b/.test(text) && !/to run the/.test(text)) return 'key';
    return /channel/.test(text) && !/to run the/.test(text) ? 'channel' : 'command';
  }
}
