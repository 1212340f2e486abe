import { randomUUID } from 'node:crypto';
import { mapName } from '../../config/validateName';
import { CommandError, NoSyncedReplicasError } from '../../errors';
import { LOCK, UNLOCK_MESSAGE, acquireLock, releaseLock } from '../../kinds/reentrant';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { slotOf } from '../../util/names';
import { REFUSALS } from '../inspection/refusals';
import { infoOf, settingOf, textOf } from './facts';
import { error, ok, type ServerCheck, unknown, warning } from './findings';
import { rights, RULES_ADVICE } from './rights';

/** Round trips above this get a warning, in ms: a lock takes one, a wake-up two. */
const SLOW_MS = 50;
/** Share of maxmemory in use from which there is a warning. */
const NEARLY_FULL = 0.9;
/** Oldest major version that is still maintained, and the oldest on which the scripts run. */
const MAINTAINED = 6;
const OLDEST = 5;

/** A replica that is silent for longer is frozen or cut off, in s: the default of Redis for min-replicas-max-lag. */
const MAX_LAG_S = 10;
/** The advice for replicas that are missing, frozen or cut off. */
const GOOD_REPLICAS = REFUSALS['NOREPLICAS']!.advice;

const NO_INFO = 'allow the user INFO (docs/security.md), or look at the server yourself';
const NO_CONFIG = 'allow this user CONFIG GET, or ask whoever runs the server';

const reachable: ServerCheck = {
  why: 'Without a reply no lock can be acquired, and held locks are lost when their leases end; a slow reply delays each.',
  examine({ roundTripMs }) {
    if ('refusal' in roundTripMs) {
      return error(roundTripMs.refusal, 'check address, network, TLS, user and password');
    }
    const ms = roundTripMs.value;
    const found = `a round trip takes ${ms.toFixed(1)} ms`;
    if (ms <= SLOW_MS) return ok(found);
    return warning(found, 'move client and server closer together; look for slow commands with SLOWLOG');
  },
};

const version: ServerCheck = {
  why: 'Scripts, ACLs and sharded pub/sub depend on it.',
  examine(server) {
    if ('refusal' in server.info) return unknown(`INFO: ${server.info.refusal}`, NO_INFO);
    const valkey = infoOf(server, 'valkey_version');
    const number = infoOf(server, 'redis_version');
    const text = valkey === undefined ? `Redis ${number ?? '(unknown)'}` : `Valkey ${valkey}`;
    const major = parseInt(number ?? '', 10);
    if (Number.isNaN(major)) return unknown('the server does not report its version', 'look at the server yourself');
    if (major < OLDEST) return error(text, `upgrade: ${OLDEST} is the oldest that works`);
    if (major < MAINTAINED) return warning(text, 'upgrade: it has no ACLs, and is no longer maintained');
    return ok(text);
  },
};

const memory: ServerCheck = {
  why: 'An evicted lock is free although somebody holds it; a full server grants no locks.',
  examine(server) {
    const policy = settingOf(server, 'maxmemory-policy') ?? infoOf(server, 'maxmemory_policy');
    const max = Number(settingOf(server, 'maxmemory') ?? infoOf(server, 'maxmemory') ?? NaN);
    if (policy === undefined || Number.isNaN(max)) {
      return unknown('neither CONFIG GET nor INFO shows the eviction policy', NO_CONFIG);
    }
    if (policy !== 'noeviction') {
      const limit = max === 0 ? 'maxmemory is not set' : `maxmemory ${max} bytes`;
      const found = `maxmemory-policy ${policy}, ${limit}`;
      return error(found, 'set maxmemory-policy noeviction, or give locks a server of their own');
    }
    const used = Number(infoOf(server, 'used_memory') ?? NaN);
    if (max === 0) return ok('noeviction, without a limit (maxmemory 0)');
    if (Number.isNaN(used)) return ok(`noeviction, maxmemory ${max} bytes`);
    const found = `noeviction, ${Math.round((100 * used) / max)} % of maxmemory ${max} bytes used`;
    if (used >= max) return error(found, 'make room: locks are refused with OOM');
    if (used >= NEARLY_FULL * max) return warning(found, 'make room: a full server refuses locks with OOM');
    return ok(found);
  },
};

const persistence: ServerCheck = {
  why: 'Locks that a restart loses are granted to others while their holders carry on.',
  examine(server) {
    const failed = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'].filter(
      (field) => (infoOf(server, field) ?? 'ok') !== 'ok',
    );
    if (failed.length > 0) {
      const advice = 'check its log and its disk; it may refuse all writes until it can save (MISCONF)';
      return error(`the last save failed (${failed.join(', ')})`, advice);
    }
    const aof = settingOf(server, 'appendonly') ?? infoOf(server, 'aof_enabled');
    const save = settingOf(server, 'save');
    if (aof === undefined) return unknown('neither CONFIG GET nor INFO shows whether it saves', NO_CONFIG);
    const advice =
      'set appendonly yes, or let a restarted server wait for the longest lease before it takes connections';
    if (aof === 'yes' || aof === '1') {
      const fsync = settingOf(server, 'appendfsync') ?? 'unknown';
      if (fsync === 'no') return warning('appendonly yes, appendfsync no', 'set appendfsync everysec, or always');
      const lost = fsync === 'everysec' ? ': a crash of the machine may lose the last second' : '';
      return ok(`appendonly yes, appendfsync ${fsync}${lost}`);
    }
    if (save === '') return warning('appendonly no, and no snapshots: a restart loses all locks', advice);
    return warning('appendonly no: a restart goes back to the last snapshot', advice);
  },
};

const replicas: ServerCheck = {
  why: 'A failover loses locks that no replica has; a master that is cut off keeps granting them.',
  examine(server, { settings }) {
    if ('refusal' in server.info) return unknown(`INFO: ${server.info.refusal}`, NO_INFO);
    const count = Number(infoOf(server, 'connected_slaves') ?? 0);
    const { kind } = settings.topology;
    if (infoOf(server, 'role') === 'slave') {
      return error('connected to a replica', 'connect to its master, or through the sentinels');
    }
    const minimum = settingOf(server, 'min-replicas-to-write');
    // Replicas that answered within min-replicas-max-lag. Redis counts them only if a minimum is set.
    const good = Number(infoOf(server, 'min_slaves_good_slaves') ?? count);
    const silent = silentReplicas(server.info.value);
    if (Number(minimum ?? 0) > good) {
      const who = silent.length === 0 ? '' : ` (${silent.join(', ')})`;
      const found = `${count} replicas, ${good} of them good${who}, min-replicas-to-write ${minimum}`;
      return error(found, GOOD_REPLICAS);
    }
    if (silent.length > 0) return warning(`${count} replicas; ${silent.join(', ')}`, GOOD_REPLICAS);
    if (count === 0) {
      if (kind === 'single') return ok('a server without replicas');
      return warning('the master has no replica', 'start one: there is nothing to fail over to');
    }
    if (kind === 'single') {
      const advice = 'connect through its sentinels or as master and slaves, so that locks wait for a replica';
      return warning(`${count} replicas, but connected to as a single server`, advice);
    }
    if (!settings.checkLockSyncedSlaves) {
      return warning(`${count} replicas, checkLockSyncedSlaves is off`, 'set checkLockSyncedSlaves true');
    }
    if (minimum === undefined)
      return unknown(`${count} replicas; CONFIG GET min-replicas-to-write is refused`, NO_CONFIG);
    const found = `${count} replicas, min-replicas-to-write ${minimum}`;
    if (Number(minimum) > 0) return ok(found);
    return warning(found, 'set min-replicas-to-write 1, so that a master that is cut off refuses locks');
  },
};

/** The replicas that do not follow their master, and what is wrong with each. */
function silentReplicas(info: ReadonlyMap<string, string>): readonly string[] {
  return [...info].flatMap(([field, text]) => {
    if (!/^slave\d+$/.test(field)) return [];
    const pairs = text.split(',').map((pair) => pair.split('=', 2));
    const { ip, port, state, lag } = Object.fromEntries(pairs) as Record<string, string | undefined>;
    if (state !== 'online') return [`${ip}:${port} is ${state}`];
    return Number(lag) > MAX_LAG_S ? [`${ip}:${port} has been silent for ${lag} s`] : [];
  });
}

const pubsub: ServerCheck = {
  why: 'Messages wake waiters; all clients, Java included, must use the same kind.',
  async examine(server, { settings }) {
    if (settings.topology.kind !== 'cluster') return ok('classic pub/sub: no cluster');
    const mode = settings.shardedSubscriptionMode;
    const reply = await server.ask('pubsub', ['SHARDNUMSUB', '0']);
    const isRefused = 'refusal' in reply && /NOPERM/.test(reply.refusal);
    if (isRefused) return unknown('PUBSUB SHARDNUMSUB is denied', 'allow the user pubsub|shardnumsub');
    const canShard = 'value' in reply;
    const found = `shardedSubscriptionMode ${mode}; the node ${canShard ? 'can' : 'cannot'} shard messages`;
    if (mode === 'ON' && !canShard) {
      return error(found, 'upgrade the node to Redis 7, or set shardedSubscriptionMode OFF on all clients');
    }
    if (mode === 'OFF' && canShard) {
      return warning(found, 'set AUTO on all clients, Java too: a classic message goes to every node of the cluster');
    }
    return ok(found);
  },
};

/** Clock differences above this are too large to come from the network, in ms. */
const CLOCK_WARNING_MS = 500;
const CLOCK_ERROR_MS = 5_000;

const clock: ServerCheck = {
  why: 'Java clients use their own clocks for places in a fair queue, and for leases of permits and of values of a group.',
  examine(server) {
    if ('refusal' in server.clock) {
      return unknown(`TIME: ${server.clock.refusal}`, 'allow the user TIME, or compare the clocks yourself');
    }
    const { aheadMs: ahead, blurMs } = server.clock.value;
    const apart = Math.abs(ahead) - blurMs;
    const found = `the clock of the server is ${Math.abs(ahead).toFixed(0)} ms ${ahead > 0 ? 'ahead' : 'behind'}`;
    if (apart < CLOCK_WARNING_MS) return ok(found);
    const advice = 'run an NTP client (chrony) on all machines, those of the clients first';
    return apart < CLOCK_ERROR_MS ? warning(found, advice) : error(found, advice);
  },
};

/** Output buffer limits below this, in bytes, cut off subscribers too early. */
const SMALL_BUFFER = 1 << 20;

const buffers: ServerCheck = {
  why: 'A subscriber that is cut off misses wake-ups; one that may lag without limit fills the memory of the server.',
  examine(server) {
    const setting = settingOf(server, 'client-output-buffer-limit');
    if (setting === undefined) return unknown('CONFIG GET client-output-buffer-limit is refused', NO_CONFIG);
    const [, hard, soft, seconds] = /\bpubsub (\d+) (\d+) (\d+)/.exec(setting) ?? [];
    if (hard === undefined) return unknown('the server has no limit named pubsub', NO_CONFIG);
    const found = `client-output-buffer-limit pubsub ${hard} ${soft} ${seconds}`;
    const advice = 'set client-output-buffer-limit "pubsub 32mb 8mb 60", the default of Redis';
    if (Number(hard) === 0 && Number(soft) === 0) return warning(`${found}: no limit`, advice);
    const smallest = Math.min(...[Number(hard), Number(soft)].filter((limit) => limit > 0));
    return smallest < SMALL_BUFFER ? warning(`${found}: subscribers are cut off early`, advice) : ok(found);
  },
};

/** A server whose idle time-out is below this, in s, cuts off waiting clients all the time. */
const SHORT_TIMEOUT_S = 60;

const timeouts: ServerCheck = {
  why: 'The next call reopens a connection that the server closed; a dead one must be noticed in time.',
  examine(server, { settings }) {
    const { timeout, lockWatchdogTimeout, connectTimeout } = settings;
    const client = `client: timeout ${timeout} ms, lockWatchdogTimeout ${lockWatchdogTimeout} ms`;
    if (timeout >= lockWatchdogTimeout) {
      return error(client, 'set timeout far below lockWatchdogTimeout: a renewal that hangs loses the lock');
    }
    if (timeout > lockWatchdogTimeout / 3) {
      return warning(
        client,
        'set timeout to at most a third of lockWatchdogTimeout, so that a renewal can be tried again',
      );
    }
    if (connectTimeout >= lockWatchdogTimeout) {
      const found = `client: connectTimeout ${connectTimeout} ms, lockWatchdogTimeout ${lockWatchdogTimeout} ms`;
      return warning(found, 'set connectTimeout below lockWatchdogTimeout: a reconnect that hangs loses all locks');
    }
    const [idle, keepAlive] = [settingOf(server, 'timeout'), settingOf(server, 'tcp-keepalive')];
    if (idle === undefined || keepAlive === undefined) {
      return unknown(`${client}; CONFIG GET timeout is refused`, NO_CONFIG);
    }
    const found = `${client}; server: timeout ${idle} s, tcp-keepalive ${keepAlive} s`;
    if (Number(idle) > 0 && Number(idle) < SHORT_TIMEOUT_S) {
      return warning(found, 'set timeout 0 on the server: idle clients are disconnected again and again');
    }
    if (Number(keepAlive) === 0) {
      return warning(found, 'set tcp-keepalive 300 on the server: it does not notice clients that are gone');
    }
    return ok(found);
  },
};

/** Lease of the trial lock, in ms: if we die before its release, it is gone soon. */
const LEASE_MS = 5_000;

/** Takes a lock of its own and releases it. */
const lock: ServerCheck = {
  why: 'A server that refuses this grants no locks, however well everything else looks.',
  async examine({ executor, tag }, { settings, name }) {
    const place = tag === '' ? '' : `:{${tag}}`;
    const key = mapName(`${name ?? 'ioredisson'}:doctor${place}:${randomUUID()}`, settings.nameMapper);
    // The user's name has its own hash tag, so its locks are on another node.
    if (tag !== '' && slotOf(key) !== slotOf(tag)) return ok('not tried here: that name belongs to another node');
    const keys = LOCK.keysOf(key);
    const owner = `${randomUUID()}:1`;
    const startedAt = performance.now();
    try {
      const what = 'try a lock';
      await executor.run(acquireLock, keys, { lease: LEASE_MS, owner, count: 1 }, { what });
      const args = { message: UNLOCK_MESSAGE, owner, left: 0, remaining: 0, publish: PUBLISH_COMMAND } as const;
      await executor.run(releaseLock, keys, args, { what });
      return ok(`a lock was acquired and released in ${(performance.now() - startedAt).toFixed(1)} ms`);
    } catch (failure) {
      const text = textOf(failure);
      if (failure instanceof NoSyncedReplicasError) {
        return error('a lock was acquired, but no replica confirmed it, so it was refused', GOOD_REPLICAS);
      }
      if (!(failure instanceof CommandError)) return error(`no lock is granted: ${text}`, 'check this server');
      // A user without the command gets no lock, whatever its name.
      if (/permissions to run|can't run this command/.test(text))
        return error(`every lock is refused: ${text}`, RULES_ADVICE);
      if (/^(?:NOPERM|NOAUTH)\b|ACL failure/.test(text)) {
        const advice = name === undefined ? 'try one of your own names: ioredisson doctor <name>' : '';
        return unknown(`not tried, this user may not: ${text}`, advice);
      }
      return error(`every lock is refused: ${text}`, REFUSALS[failure.reply]?.advice ?? 'check the log of the server');
    }
  },
};

/** Commands that a managed service may refuse to every user: the arguments for a trial, and the cost of a refusal. */
const USED: Readonly<Record<string, { readonly args: readonly (string | number)[]; readonly cost: string }>> = {
  EVAL: {
    args: ['return 1', 0],
    cost: 'no lock works: all are scripts',
  },
  WAIT: {
    args: [0, 1],
    cost: 'no replica confirms an acquisition: a failover may lose the newest locks',
  },
  'PUBSUB NUMSUB': {
    args: ['ioredisson'],
    cost: 'on a cluster fairness between processes is estimated; list shows no waiters',
  },
  'CLIENT LIST': {
    args: [],
    cost: 'an inspector cannot say whether a holder is still connected',
  },
  'CONFIG GET': {
    args: ['maxmemory-policy'],
    cost: 'look up eviction, persistence and time-outs in the console of the provider',
  },
  INFO: {
    args: ['server'],
    cost: 'look up version, replicas and memory in the console of the provider',
  },
};

/**
 * Replies of a server that cannot serve at the moment, or not in its role. Any other error is a refusal: each service
 * words it differently.
 */
const FOR_NOW = /^(?:NOAUTH|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS)\b|\breplica/;
/** Replies to commands that only the user's rights forbid. */
const FORBIDDEN = /^NOPERM\b/;

const provider: ServerCheck = {
  why: 'Managed services refuse some commands; locks work without these, at the cost named with each.',
  async examine({ ask }) {
    const commands = Object.keys(USED);
    const words = await Promise.all(
      commands.map(async (command) => {
        const [name = '', ...subcommand] = command.split(' ');
        const reply = await ask(name.toLowerCase(), [...subcommand, ...USED[command]!.args]);
        return 'refusal' in reply && !FOR_NOW.test(reply.refusal) ? reply.refusal : '';
      }),
    );
    const refused = commands.filter((_, i) => words[i] !== '' && !FORBIDDEN.test(words[i]!));
    const forbidden = commands.filter((_, i) => FORBIDDEN.test(words[i]!));
    const forbids = forbidden.length === 0 ? '' : `; this user may not ${listed(forbidden)}`;
    if (refused.length === 0) return ok(`refuses no command that locks use${forbids}`);
    const what = `refuses ${listed(refused)}${forbids}`;
    if (refused.includes('EVAL')) return error(what, 'use a service or a plan that runs Lua scripts');
    return warning(what, 'see docs/managed.md for the settings that fit the service');
  },
};

function listed(commands: readonly string[]): string {
  return commands.map((command) => `${command} (${USED[command]!.cost})`).join('; ');
}

/** The checks of the doctor, in the order of its report. */
export const CHECKS = {
  reachable,
  lock,
  version,
  memory,
  persistence,
  replicas,
  pubsub,
  rights,
  clock,
  buffers,
  timeouts,
  provider,
};
