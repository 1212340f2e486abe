import { ALL_KINDS, scriptsOf } from '../../kinds/allKinds';
import type { Kind } from '../../kinds/Kind';

/** What a kind of object needs of its user. */
export interface NeededRights {
  readonly commands: readonly string[];
  /** The keys of an object of that name. */
  readonly keys: (key: string) => readonly string[];
  readonly channels: (key: string) => readonly string[];
}

const OWNER = '00000000-0000-4000-8000-000000000000:1';

const PUBSUB = ['publish', 'subscribe', 'unsubscribe'];

/** What every client needs, and what some deployments need besides. As docs/security.md has it: a test compares. */
export const BASE_RIGHTS = {
  connection: 'info ping client|setname',
  replicas: 'wait',
  cluster: 'cluster|slots cluster|info',
  classic: 'pubsub|numsub',
  sharded: 'spublish ssubscribe sunsubscribe pubsub|shardnumsub',
} as const;

/** What each kind needs, by the blocks of docs/security.md: those that share a block are taken together. */
export const KIND_RIGHTS: Readonly<Record<string, NeededRights>> = Object.fromEntries(
  ALL_KINDS.map(blockOf).map((block) => [block, needsOf(ALL_KINDS.filter((kind) => blockOf(kind) === block))]),
);

/** The block of docs/security.md that has the rights of a kind. */
export function blockOf({ rights, report }: Kind): string {
  return rights ?? report;
}

function needsOf(kinds: readonly Kind[]): NeededRights {
  const scripts = kinds.flatMap(scriptsOf);
  const roles = new Set(scripts.flatMap(({ realKeys }) => realKeys));
  const called = scripts.flatMap(({ lua }) =>
    [...lua.matchAll(/redis\.p?call\(\s*'([a-z]+)'/g)].map(([, name]) => name!),
  );
  const tells = kinds.some(({ channelOf }) => channelOf !== undefined);
  const commands = ['eval', 'evalsha', ...called, ...kinds.flatMap((kind) => kind.commands), ...(tells ? PUBSUB : [])];
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
