import type { GivenProfile } from '../workload/clusterWorlds';
import type { ListedMutation } from './list';

/** Tokens that are over after a while, and nothing else is wrong. Few callers, and long holds. */
const ROTATING: GivenProfile = {
  tokens: { lifetimeMs: 10_000, streaming: false },
  kinds: ['lock'],
  servers: 1,
  replicas: 0,
  sentinels: 0,
  javaApps: 0,
  apps: 3,
  tasks: 2,
  thinkMs: 500,
  namesPerKind: 1,
  synchronizers: 0,
  multis: 0,
  groups: 0,
  latencyMs: 5,
  longHolds: 100,
  faults: [],
  settings: { lockWatchdogTimeout: 30_000, maxHandOvers: 0, fairLockWaitTimeout: 60_000, lockWatchdogBatchSize: 100 },
};
/** A provider that fails now and then, for less time than tokens have left when they are renewed. */
const FAILING: GivenProfile = {
  ...ROTATING,
  tokens: { lifetimeMs: 300_000, streaming: false },
  thinkMs: 20_000,
  calmMs: 90_000,
  faults: ['tokens'],
};
/** Few messages, so that one that is lost is missed: whoever waits for one waits far away. */
const QUIET: GivenProfile = { ...ROTATING, apps: 2, tasks: 1, thinkMs: 100, latencyMs: 30, longHolds: 20 };

/** Ways to break what keeps connections logged in. */
export const TOKEN_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'a connection is not logged in again',
    within: 5,
    profile: ROTATING,
    edits: [
      {
        file: 'connection/link/Logins.ts',
        search: 'if (expiresIn !== undefined) renewIn(Math.max(expiresIn * RENEW_PART, MIN_RENEW_MS));',
        replace: '',
      },
    ],
  },
  {
    name: 'a login that could not be renewed is not tried again',
    within: 10,
    profile: FAILING,
    edits: [
      {
        file: 'connection/link/Logins.ts',
        search: 'renewIn(jittered(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures++, 10), MAX_PAUSE_MS)));',
        replace: '',
      },
    ],
  },
  {
    name: 'a provider that has given up is not subscribed to anew',
    by: { file: 'test/unit/connection/loginSources.test.ts', grep: 'given up' },
    edits: [
      {
        file: 'connection/link/loginSources.ts',
        search: "ended = this.#secrets.hide(error, 'credentials');\n      this.refused(ended);\n      this.#again();",
        replace: "ended = this.#secrets.hide(error, 'credentials');\n      this.refused(ended);",
      },
    ],
  },
  {
    name: 'a connection that listens is replaced before the next one has its channels',
    within: 40,
    profile: QUIET,
    edits: [
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search: 'if (missing.length === 0) break;',
        replace: 'break;',
      },
    ],
  },
];
