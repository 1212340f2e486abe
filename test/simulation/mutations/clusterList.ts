import type { GivenProfile } from '../workload/clusterWorlds';
import type { ListedMutation } from './list';

/** Slots move, and nothing else is wrong. Few callers, who are not woken by each other. */
const MOVING: GivenProfile = {
  cluster: { sharded: true, lossy: false },
  kinds: ['lock'],
  tasks: 2,
  thinkMs: 100,
  namesPerKind: 2,
  synchronizers: 0,
  multis: 0,
  groups: 0,
  longHolds: 20,
  faults: ['cluster'],
  calmMs: 18_000,
  settings: { lockWatchdogTimeout: 30_000, maxHandOvers: 0, fairLockWaitTimeout: 60_000, lockWatchdogBatchSize: 100 },
};
/** Masters die, hang, and are cut off, with what no replica has confirmed. */
const FAILING: GivenProfile = { ...MOVING, cluster: { lossy: true, nodeTimeoutMs: 1_500 } };
const BUSY: GivenProfile = { ...FAILING, tasks: 5, thinkMs: 5, namesPerKind: 4 };

/** Ways to break what knows of a cluster. */
export const CLUSTER_MUTATIONS: readonly ListedMutation[] = [
  {
    name: 'no replica of a cluster confirms acquisitions',
    within: 10,
    profile: BUSY,
    edits: [
      {
        file: 'config/builder/buildSettings.ts',
        search: 'checkLockSyncedSlaves: true,',
        replace: 'checkLockSyncedSlaves: false,',
      },
    ],
  },
  {
    name: 'a redirection of a cluster is not followed',
    within: 10,
    profile: MOVING,
    edits: [
      {
        file: 'connection/cluster/ClusterLink.ts',
        search: "if (code !== 'MOVED' && code !== 'ASK') throw error;",
        replace: "if (code !== 'ASK') throw error;",
      },
    ],
  },
  {
    name: 'sharded subscriptions stay with the former owner of a slot',
    within: 20,
    profile: MOVING,
    edits: [
      {
        file: 'connection/pubsub/ShardedSubscriber.ts',
        search: 'view.onChange(() => this.#follow());',
        replace: '',
      },
      {
        file: 'connection/pubsub/ConnectionSubscriber.ts',
        search:
          "if (this.#sharded) (redis as NodeJS.EventEmitter).on('moved', () => this.#askAgainIn(0, this.#wanted.keys()));",
        replace: '',
      },
    ],
  },
  {
    name: 'classic subscriptions stay with a master that is none any more',
    within: 60,
    profile: { ...BUSY, cluster: { ...FAILING.cluster, sharded: false }, kinds: ['fair'] },
    edits: [
      {
        file: 'connection/connectCluster.ts',
        search: 'if (isGone) subscriber.missed(last === undefined || view.masters.has(last));',
        replace: '',
      },
    ],
  },
  {
    name: 'the slots of a cluster are never asked for again',
    by: { file: 'test/unit/connection/slotRefresh.test.ts', grep: 'are asked for again every scanInterval' },
    edits: [
      {
        file: 'connection/cluster/ClusterView.ts',
        search: 'if (!this.#closed) this.#alarm.setBy',
        replace: 'if (!this.#closed && this.#sharded === undefined) this.#alarm.setBy',
      },
    ],
  },
  {
    name: 'waiters do not look again when slots have moved',
    by: {
      file: 'test/unit/connection/ShardedSubscriber.test.ts',
      grep: 'tells the waiters of a slot that goes to a master',
    },
    edits: [
      {
        file: 'connection/pubsub/ShardedSubscriber.ts',
        search: 'this.events?.restored(channels);',
        replace: '',
      },
    ],
  },
  {
    name: 'a redirection after the end opens a connection, which nobody closes',
    by: { file: 'test/unit/connection/closedCluster.test.ts', grep: 'is connected to nobody any more' },
    edits: [
      {
        file: 'connection/cluster/ClusterView.ts',
        search: 'this.#closed ? undefined : this.#slots',
        replace: 'this.#slots',
      },
    ],
  },
  {
    name: 'a release that no replica has confirmed is forgotten',
    by: { file: 'test/unit/locks/undo.test.ts', grep: 'no replica has confirmed: a failover may bring it back' },
    edits: [
      {
        file: 'watchdog/OwnershipTable.ts',
        search: 'if (record.unconfirmed === true)',
        replace: 'if (record.sends < 0)',
      },
    ],
  },
  {
    name: 'a replica that comes back is not asked for 30 s',
    by: { file: 'test/unit/connection/Replicas.test.ts', grep: 'that came after a failover confirm the first write' },
    edits: [
      {
        file: 'connection/link/Replicas.ts',
        search: 'const MAX_AGE_ALONE_MS = 1_000;',
        replace: 'const MAX_AGE_ALONE_MS = MAX_AGE_MS;',
      },
    ],
  },
];
