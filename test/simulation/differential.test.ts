import { expect } from 'chai';
import { PUBLISH_COMMAND, RESEND_FLAG, type ScriptArg } from '../../lib/scripts/Script';
import { useBench } from '../redis/scripts/ScriptBench';
import { keyOf, moreArgsOf, type Sample, SAMPLES } from '../redis/scripts/samples';
import { Random } from './engine/Random';
import { ServerScripts } from './server/ServerScripts';
import { runCommand } from '../../lib/testing/store/commands';
import type { ScriptCompiler } from '../../lib/testing/store/luaRuntime';
import { RedisError, type Reply, Status } from '../../lib/testing/store/replies';
import { SimStore } from './server/SimStore';
import { compiledInPlace, makerOf } from '../../tools/luaCompiler';

/**
 * How far times may differ, in ms, besides the time for which scripts ran: older servers do not stop their clocks for a
 * script, and differences add up.
 */
const TOLERANCE_MS = 60;
const NOW = 1_800_000_000_000;
/** Other values than those of the samples. */
const CHOICES: Readonly<Record<string, readonly ScriptArg[]>> = {
  lease: [30_000, 60_000, 100_000],
  owner: ['uuid:1', 'uuid:2', 'uuid:3', 'uuid:1:write', 'uuid:2:write'],
  writer: ['uuid:1:write', 'uuid:2:write'],
  heir: ['uuid:1', 'uuid:2', 'uuid:9'],
  count: [1, 1, 2, 3],
  repeated: [0, 1],
  wait: [5_000, 60_000],
  slept: [0, 500, 5_000],
  now: [NOW, NOW + 400, NOW + 5_000, NOW - 10_000],
  left: [0, 0, 1, 2],
  remaining: [0, 20_000, 50_000],
  permits: [1, 2, 3],
  ttl: [0, 60_000],
  total: [0, 3, 7],
  added: [-2, 2],
  id: ['0123456789abcdef', 'another permit..', '\u00ff\u0000\u0080'],
  expiry: [NOW + 1_000, NOW - 1, 922_337_203_685_477],
  told: [0, 500, 5_000],
};

/** What both have: every key, its type, what it holds, its time to live. */
const DUMP = `
local all = {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('type', key).ok
  local content
  if kind == 'hash' then content = redis.call('hgetall', key)
  elseif kind == 'zset' then content = redis.call('zrange', key, 0, -1, 'withscores')
  elseif kind == 'list' then content = redis.call('lrange', key, 0, -1)
  else content = redis.call('get', key) end
  all[i] = {key, kind, content, redis.call('pttl', key)}
end
return all`;

/**
 * A script that says when it began and when it ended. Its own look at the clock is the first one: the clock may go on.
 */
function timed(body: string): string {
  const run = `local function run()\n${body.replaceAll("redis.call('time')", 'ranAt')}\nend`;
  return `local ranAt = redis.call('time')\n${run}\nlocal reply = run()\nreturn {ranAt, redis.call('time'), reply}`;
}

/** Lua that the simulation does not run: what looks at locks from outside. */
const NOT_SIMULATED = /^inspection\./;
const SIMULATED = SAMPLES.filter(({ script }) => !NOT_SIMULATED.test(script.name));

/** All scripts in one text, as they are in the package. */
const together = makerOf(SIMULATED.map(({ script }) => [script.sha, script.lua]));
const compiledTogether: ScriptCompiler = (...parts) => {
  const scripts = together(...parts);
  return (_, sha) => scripts[sha]!;
};

const empty = new SimStore(() => 0);

describe('the simulated server', () => {
  const bench = useBench();

  /** @returns what the real server answered, by its clock when, and after how long; no times where it was an error */
  async function ask(
    script: string,
    keys: string[],
    args: Buffer[],
  ): Promise<{ now?: number; ms?: number; reply: unknown }> {
    try {
      const answer = await bench().redis.callBuffer('eval', timed(script), keys.length, ...keys, ...args);
      const [ranAt, endedAt, reply = null] = answer as [Time, Time, unknown];
      return { now: millisOf(ranAt), ms: millisOf(endedAt) - millisOf(ranAt), reply };
    } catch (error) {
      return { reply: error };
    }
  }

  for (const seed of [1, 2, 3]) {
    it(`answers, writes and publishes as a real one, seed ${seed}`, async function () {
      this.timeout(30_000);
      const random = new Random(seed);
      let now = 0;
      let tolerance = TOLERANCE_MS;
      const told: string[] = [];
      const store = new SimStore(() => now);
      const { name } = bench();
      const publish = (channel: string, message: string): number => {
        told.push(`${channel.replaceAll(name, 'x')} ${message}`);
        return 1;
      };
      const engine = new ServerScripts({
        compiler: compiledTogether,
        store: () => store,
        full: () => false,
        publish,
        wrote: () => undefined,
      });
      for (let step = 0; step < 500; step++) {
        const sample = random.of(SIMULATED);
        const call = randomCall(random, sample, name);
        const { script } = sample;
        const real = await ask(script.lua, call.keys, call.args.map(bytes));
        now = real.now ?? now;
        tolerance += real.ms ?? 0;
        const ours = engine.run(engine.load(latin(script.lua)), call.keys, call.args);
        const where = `seed ${seed}, step ${step}: ${script.name} ${JSON.stringify(call)}`;
        compare(plain(ours), text(real.reply), where, tolerance);
        if (step % 7 !== 0) continue;
        const keys = (await bench().keys()).sort();
        const dumped = await ask(DUMP, keys, []);
        now = dumped.now!;
        // Of this one only: it changes nothing.
        const here = tolerance + dumped.ms!;
        const contents = Object.entries(store.dump()).map(([key, [kind, , ttl]]) => [
          key,
          kind,
          contentOf(store, key),
          ttl,
        ]);
        compare(contents, text(dumped.reply), `${where}: contents`, here);
      }
      expect(told).to.deep.equal(await bench().messages());
    });
  }

  it('runs every script', () => {
    const engine = new ServerScripts({
      compiler: compiledInPlace,
      store: () => empty,
      full: () => false,
      publish: () => 0,
      wrote: () => undefined,
    });
    for (const { script } of SIMULATED) expect(engine.load(latin(script.lua)), script.name).to.equal(script.sha);
  });

  it('refuses what needs memory where there is none', () => {
    const engine = new ServerScripts({
      compiler: compiledInPlace,
      store: () => empty,
      full: () => true,
      publish: () => 0,
      wrote: () => undefined,
    });
    const run = (text: string): Reply => engine.run(engine.load(text), [], []);
    expect(run("return redis.call('set', 'a', 1)"))
      .to.be.instanceOf(RedisError)
      .with.property('message')
      .that.matches(/^OOM/);
    expect(run("return redis.call('del', 'a')")).to.equal(0);
  });
});

function randomCall(random: Random, sample: Sample, unique: string): { keys: string[]; args: string[] } {
  const { script } = sample;
  // In the hash of a group, times stand where a read lock has counts: its scripts would loop for ever.
  const family = /semaphore|latch|group/i.test(script.name)
    ? script.name.split('.')[0]!
    : random.of(['lock', 'lock', 'rw']);
  const plainName = `${unique}:${/^(read|write)/.test(script.name) && random.chance(90) ? 'rw' : family}`;
  const name = random.chance(20) ? `{${plainName}}` : plainName;
  const hold = `${keyOf('timeoutPrefix', name)}:${random.of([1, 1, 2])}`;
  const keys = script.realKeys.map((role) => (role === 'hold' ? hold : keyOf(role, name)));
  const value = (role: string): ScriptArg => {
    const choices = CHOICES[role];
    return choices === undefined || random.chance(30) ? sample.args[role]! : random.of(choices);
  };
  const args = [
    ...script.args.map(value),
    ...script.channels.map((role) => keyOf(role, name)),
    ...moreArgs(random, sample, name),
  ].map((arg) => {
    if (arg === PUBLISH_COMMAND) return 'PUBLISH';
    if (arg === RESEND_FLAG) return random.of(['0', '1']);
    return Buffer.isBuffer(arg) ? arg.toString('latin1') : String(arg);
  });
  return { keys: [...keys, ...(sample.moreKeys?.(name) ?? [])], args };
}

/** For groups other values, counts and times than those of the samples. */
function moreArgs(random: Random, sample: Sample, name: string): readonly ScriptArg[] {
  const { script } = sample;
  const given = moreArgsOf(sample, name);
  if (!script.name.startsWith('groupLock.')) return given;
  const names = ['a', 'b', 'c', 'd'];
  const chosen = new Map(['a', 'b', 'c'].map((value) => [value, names.splice(random.below(names.length), 1)[0]!]));
  return given.map((arg, i) => {
    if (typeof arg === 'number' && script.name === 'groupLock.acquire' && i % 3 === 0) return random.of([1, 1, 2, 3]);
    if (typeof arg === 'number' && script.name === 'groupLock.release' && i % 4 < 2) {
      return i % 4 === 0 ? random.of([0, 0, 1, 2]) : random.of([0, 1_000, 50_000]);
    }
    if (typeof arg === 'string' && arg.startsWith('uuid:')) return random.of(CHOICES['owner']!);
    return chosen.get(String(arg)) ?? arg;
  });
}

function contentOf(store: SimStore, key: string): Reply {
  const kind = (runCommand(store, 'type', [key]) as Status).text;
  if (kind === 'hash') return runCommand(store, 'hgetall', [key]);
  if (kind === 'zset') return runCommand(store, 'zrange', [key, '0', '-1', 'withscores']);
  return kind === 'list' ? runCommand(store, 'lrange', [key, '0', '-1']) : runCommand(store, 'get', [key]);
}

function latin(value: string): string {
  return Buffer.from(value).toString('latin1');
}

function bytes(value: string): Buffer {
  return Buffer.from(value, 'latin1');
}

/** What the simulation answers, as the real one is read. */
function plain(reply: Reply): unknown {
  if (reply instanceof RedisError) return `error ${reply.message.split(' ')[0]}`;
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? (reply as Reply[]).map(plain) : reply;
}

function text(reply: unknown): unknown {
  if (reply instanceof Error) return `error ${reply.message.split(' ')[0]}`;
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  return Array.isArray(reply) ? reply.map(text) : reply;
}

/** Seconds and microseconds, as TIME replies. */
type Time = readonly [seconds: Buffer, micros: Buffer];

function millisOf([seconds, micros]: Time): number {
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** Equal, but for times. @param tolerance - how far those may differ, in ms */
function compare(ours: unknown, theirs: unknown, where: string, tolerance: number): void {
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    ours.forEach((item, i) => compare(item, theirs[i], where, tolerance));
  } else if (isClaim(ours) && isClaim(theirs)) {
    compare(ours.split(':'), theirs.split(':'), where, tolerance);
  } else if (isTime(ours) && isTime(theirs)) {
    expect(Number(ours), where).to.be.closeTo(Number(theirs), tolerance);
  } else {
    expect(ours, where).to.deep.equal(theirs);
  }
}

/** The claim of a waiter of a fair lock: two times, and whether it was probed. */
function isClaim(value: unknown): value is string {
  return typeof value === 'string' && /^\d*:\d+:\d$/.test(value);
}

function isTime(value: unknown): boolean {
  return (typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))) && Number(value) > 1_000;
}
