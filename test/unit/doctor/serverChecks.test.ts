import { expect } from 'chai';
import type { Patient, ServerFacts, ServerSetting } from '../../../lib/operators/doctor/facts';
import { CHECKS as checks } from '../../../lib/operators/doctor/serverChecks';

type Info = Readonly<Record<string, string | number>>;
type Given = Partial<Record<ServerSetting, string>>;

/** A server that says these things, and refuses the rest. */
function serverThat(info: Info, settings: Given, refusal: string): ServerFacts {
  return {
    address: '',
    tag: '',
    roundTripMs: { value: 1 },
    info: { value: new Map(Object.entries(info).map(([field, value]) => [field, String(value)])) },
    settings: new Map(Object.entries(settings).map(([name, value]) => [name as ServerSetting, { value }])),
    clock: { value: { aheadMs: 0, blurMs: 0 } },
    ask: () => Promise.resolve({ refusal }),
  } as unknown as ServerFacts;
}

function patient(kind: string, isCluster: boolean, more: object = {}): Patient {
  const settings = { topology: { kind }, checkLockSyncedSlaves: true, shardedSubscriptionMode: 'AUTO', ...more };
  return { settings, isCluster, name: undefined } as unknown as Patient;
}

const NO_SUBCOMMAND = 'ERR unknown subcommand';
const SINGLE = patient('single', false);
const SENTINEL = patient('sentinel', false);
const online = (lag: number): string => `ip=10.0.0.2,port=6379,state=online,offset=1,lag=${lag}`;

/** The rows of the table in docs/doctor.md for which no server is at hand, or none that is ill in that way. */
describe('the doctor (docs/doctor.md)', () => {
  const rows: readonly [keyof typeof checks, string, RegExp, Info, Given?, Patient?][] = [
    ['version', 'error', /^Redis 4\.0\.14$/, { redis_version: '4.0.14' }],
    ['version', 'warning', /^Redis 5\.0\.14$/, { redis_version: '5.0.14' }],
    ['version', 'ok', /^Redis 6\.0\.0$/, { redis_version: '6.0.0' }],
    ['version', 'ok', /^Valkey 9\.0\.0$/, { redis_version: '7.2.4', valkey_version: '9.0.0' }],
    ['memory', 'warning', /90 % of maxmemory/, { used_memory: 900, maxmemory: 1000, maxmemory_policy: 'noeviction' }],
    ['memory', 'ok', /89 % of maxmemory/, { used_memory: 890, maxmemory: 1000, maxmemory_policy: 'noeviction' }],
    ['memory', 'error', /100 % of maxmemory/, { used_memory: 1000, maxmemory: 1000, maxmemory_policy: 'noeviction' }],
    ['memory', 'unknown', /neither CONFIG GET nor INFO/, {}],
    ['persistence', 'error', /rdb_last_bgsave_status/, { rdb_last_bgsave_status: 'err' }, { appendonly: 'yes' }],
    ['persistence', 'error', /aof_last_write_status/, { aof_last_write_status: 'err' }, { appendonly: 'yes' }],
    ['persistence', 'unknown', /neither CONFIG GET nor INFO/, {}],
    ['replicas', 'error', /connected to a replica/, { role: 'slave' }],
    ['replicas', 'warning', /10\.0\.0\.2:6379 has been silent for 11 s/, { connected_slaves: 1, slave0: online(11) }],
    [
      'replicas',
      'unknown',
      /min-replicas-to-write is refused/,
      { connected_slaves: 1, slave0: online(1) },
      {},
      SENTINEL,
    ],
    ['pubsub', 'error', /ON; the node cannot/, {}, {}, patient('cluster', true, { shardedSubscriptionMode: 'ON' })],
    ['pubsub', 'ok', /AUTO; the node cannot/, {}, {}, patient('cluster', true)],
  ];
  for (const [check, status, found, info, settings = {}, of = SINGLE] of rows) {
    it(`${check}: ${status}, where it is found that ${found.source}`, async () => {
      const diagnosis = await checks[check as 'version'].examine(serverThat(info, settings, NO_SUBCOMMAND), of);
      expect(diagnosis.status).to.equal(status);
      expect(diagnosis.found).to.match(found);
      if (status !== 'ok') expect(diagnosis.advice).to.have.length.above(0);
    });
  }
});
