import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import {
  newSendRecord,
  newCleanupRecord,
  type RunOptions,
  type SendRecord,
} from '../../../lib/connection/pending/CommandExecutor';
import { Executor, type ExecutorSettings, longestWaitMs } from '../../../lib/connection/Executor';
import type { ConnectionError } from '../../../lib/errors';
import { PUBLISH_COMMAND, RESEND_FLAG, type Resend, type ScriptArg } from '../../../lib/scripts/Script';
import { fakeClock } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeLink, reply, script } from './fakeLink';

const TIMEOUT = 1_000;
const RETRIES = 3;
/** How long a command waits for somebody who can serve it, and a red lock for a majority that can. */
const LONGEST_WAIT = longestWaitMs({ timeout: TIMEOUT, retryAttempts: RETRIES });

const SCRIPTS = { always: script('always'), connection: script('connection'), never: script('never') };

describe('Executor', () => {
  let clock: SinonFakeTimers;
  let link: FakeLink;
  let executor: Executor;

  beforeEach(() => {
    clock = fakeClock();
    link = new FakeLink();
    executor = make();
  });

  function make(more: Partial<ExecutorSettings> = {}): Executor {
    return new Executor(link, {
      timeout: TIMEOUT,
      retryAttempts: RETRIES,
      slavesSyncTimeout: 100,
      checkLockSyncedSlaves: true,
      ...more,
    });
  }

  function run(resend: Resend, options: RunOptions = {}, arg: ScriptArg = 'x'): Outcome<unknown> {
    return new Outcome(executor.run(SCRIPTS[resend], { name: 'a' }, { arg }, { name: 'a', ...options }));
  }

  /** Lets promises settle. */
  const settle = () => clock.tickAsync(0);

  function errorOf(outcome: Outcome<unknown>): ConnectionError {
    expect(outcome.state).to.equal('rejected');
    return outcome.error as ConnectionError;
  }

  describe('sends', () => {
    it('what is true when it is written, each time: at first, again, and with the text of the script', async () => {
      let value = 1;
      const given = { moreArgs: () => [`more ${value}`] };
      const outcome = new Outcome(executor.run(SCRIPTS.always, { name: 'a' }, () => ({ arg: `arg ${value}` }), given));
      const expectWritten = (times: number): void => {
        expect([link.sent.length, link.last.command]).to.deep.equal([times, 'eval']);
        expect(link.last.args).to.deep.equal([SCRIPTS.always.lua, 1, 'a', `arg ${value}`, `more ${value}`]);
      };
      expectWritten(1);
      value = 2;
      await clock.tickAsync(TIMEOUT);
      expectWritten(2);
      value = 3;
      link.last.reject(reply('LOADING'));
      await clock.tickAsync(100);
      expectWritten(3);
      link.last.resolve(1);
      await settle();
      expect(outcome.state).to.equal('resolved');
    });

    it('keys, arguments and channels in the order of the script', async () => {
      const one = script('always', { keys: ['name', 'channel'] as never });
      const keys = { name: 'a', channel: 'c' };
      executor.run(one, keys, { arg: 7 }).catch(() => undefined);
      const sent = executor.run(one, keys, { arg: 7 }, { moreKeys: ['b'], moreArgs: [PUBLISH_COMMAND, RESEND_FLAG] });
      expect(link.last.command).to.equal('evalsha');
      expect(link.last.args).to.deep.equal([one.sha, 2, 'a', 'b', 7, 'c', 'PUBLISH', '0']);
      expect(link.last.key).to.equal('a');
      link.last.resolve('done');
      expect(await sent).to.equal('done');
    });

    it('C17: a script with its text, the first time to each server and on each connection: never a second round trip', () => {
      Object.assign(link, { serverOf: (key: string) => key });
      const send = (name: string, i: number): string => {
        const options = i % 2 === 0 ? {} : { sendRecord: newCleanupRecord() };
        executor.run(SCRIPTS.always, { name }, { arg: 'x' }, options).catch(() => undefined);
        return link.last.command;
      };
      // Each node of a cluster has a cache of its own; after an abort and a shut-down nobody would send the text any
      // more.
      expect(['a', 'b', 'a', 'b'].map(send)).to.deep.equal(['eval', 'eval', 'evalsha', 'evalsha']);
      link.events?.lost();
      expect(['b', 'b'].map(send)).to.deep.equal(['eval', 'evalsha']);
    });

    it('nothing more to a server that does not know a script although it was told its text', async () => {
      run('always');
      const outcome = run('always');
      link.last.reject(reply('NOSCRIPT No matching script.'));
      await settle();
      link.last.reject(reply('NOSCRIPT No matching script.'));
      await settle();
      expect(link.sent).to.have.length(3);
      expect(errorOf(outcome)).to.include({ code: 'COMMAND', reply: 'NOSCRIPT', mayHaveRun: false });
    });

    it('the text of a script the server does not know, to the same end', async () => {
      run('never');
      const outcome = run('never');
      link.last.reject(reply('NOSCRIPT No matching script. Please use EVAL.'));
      await settle();
      expect(link.last.command).to.equal('eval');
      expect(link.last.args[0]).to.equal(script('never').lua);
      link.last.resolve(1);
      await settle();
      expect(outcome.value).to.equal(1);
    });

    it('every one of several scripts that were under way when the server forgot them', async () => {
      const names = ['never', 'always', 'connection'] as const;
      for (const name of names) run(name);
      link.sent.length = 0;
      const outcomes = names.map((name) => run(name));
      for (const { reject } of link.sent.slice()) reject(reply('NOSCRIPT'));
      await settle();
      expect(link.sent.map(({ command }) => command)).to.deep.equal([
        ...Array.from({ length: 3 }, () => 'evalsha'),
        ...Array.from({ length: 3 }, () => 'eval'),
      ]);
      for (const [i, { resolve }] of link.sent.slice(3).entries()) resolve(i);
      await settle();
      expect(outcomes.map(({ value }) => value)).to.deep.equal([0, 1, 2]);
    });

    it('what waited, in the order of the calls and before what comes later, once there is a connection', async () => {
      link.up = false;
      run('never', {}, 1);
      run('always', {}, 2);
      link.open();
      run('never', {}, 3);
      expect(link.sent.map(({ args }) => args[3])).to.deep.equal([1, 2, 3]);
    });

    it('what can be sent, while something else cannot', async () => {
      link.blocked.add('a');
      const blocked = run('never');
      await Promise.race([executor.run(script('never'), { name: 'b' }, { arg: 1 }), settle()]);
      expect(link.sent.map(({ key }) => key)).to.deep.equal(['b']);
      link.blocked.clear();
      link.events?.ready();
      link.last.resolve('now');
      await settle();
      expect(blocked.value).to.equal('now');
    });
  });

  describe('a connection that breaks', () => {
    it('sends again what may be repeated, and tells the script so', async () => {
      for (const resend of ['always', 'connection'] as const) {
        link = new FakeLink();
        executor = make();
        const sendRecord = newSendRecord();
        const outcome = run(resend, { sendRecord }, RESEND_FLAG);
        expect(link.last.args[3]).to.equal('0');
        link.break();
        await settle();
        expect([link.sent.length, executor.connectionNumber]).to.deep.equal([1, 1]);
        link.open();
        expect(link.last.args[3]).to.equal('1');
        expect([sendRecord.sends, sendRecord.connectionNumber]).to.deep.equal([2, 1]);
        link.last.resolve(1);
        await settle();
        expect(outcome.value).to.equal(1);
      }
    });

    it('ends what may not be repeated, which may have run', async () => {
      const outcome = run('never');
      link.break();
      await settle();
      expect(errorOf(outcome).code).to.equal('CONNECTION');
      expect(errorOf(outcome).mayHaveRun).to.equal(true);
      link.open();
      expect(link.sent.length).to.equal(1);
    });

    it('again and again ends it after the retries', async () => {
      const outcome = run('always');
      for (let i = 0; i <= RETRIES; i++) {
        expect(outcome.state).to.equal('pending');
        link.break();
        await settle();
        link.open();
        await settle();
      }
      expect(link.sent.length).to.equal(1 + RETRIES);
      expect(errorOf(outcome).mayHaveRun).to.equal(true);
    });

    it('does not send again what nobody waits for', async () => {
      const sendRecord = newSendRecord();
      const outcome = run('connection', { sendRecord });
      link.break();
      await settle();
      sendRecord.cancelled = true;
      link.open();
      await settle();
      expect(link.sent.length).to.equal(1);
      expect(errorOf(outcome).mayHaveRun).to.equal(true);
    });

    it('is waited for as long as a call may wait, and no longer', async () => {
      link.up = false;
      link.lastError = new Error('connect ECONNREFUSED');
      const outcome = run('always');
      await clock.tickAsync(LONGEST_WAIT - 1);
      expect(outcome.state).to.equal('pending');
      await clock.tickAsync(1);
      const error = errorOf(outcome);
      expect([error.code, error.mayHaveRun, error.cause]).to.deep.equal(['CONNECTION', false, link.lastError]);
      expect(error.message).to.contain('fake:1').and.contain("script.always 'a'").and.contain('ECONNREFUSED');
      link.open();
      expect(link.sent.length).to.equal(0);
      expect(clock.countTimers()).to.equal(0);
    });

    it('bounds how many commands wait for it', async () => {
      await executor.close();
      link = new FakeLink();
      executor = make({ maxPending: 3 });
      link.up = false;
      const waiting = [run('always'), run('always'), run('always')];
      const refused = run('always');
      await settle();
      expect(errorOf(refused).mayHaveRun).to.equal(false);
      expect(waiting.map(({ state }) => state)).to.deep.equal(['pending', 'pending', 'pending']);
    });

    it('that never was (nothing was written) costs no try', async () => {
      const sendRecord = newSendRecord();
      const outcome = run('never', { sendRecord });
      link.last.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
      await settle();
      expect(sendRecord.sends).to.equal(0);
      expect(link.sent.length).to.equal(1);
      await clock.tickAsync(100);
      link.last.resolve(5);
      await settle();
      expect(outcome.value).to.equal(5);
    });
  });

  describe('a server that refuses the connection', () => {
    it('is told at once to those who wait and to those who come', async () => {
      link.up = false;
      const waiting = run('always');
      link.refusal = reply('WRONGPASS invalid username-password pair or user is disabled.');
      link.events?.refused(link.refusal);
      const coming = run('always');
      await settle();
      for (const outcome of [waiting, coming]) {
        const error = errorOf(outcome);
        expect([error.code, error.mayHaveRun, error.cause]).to.deep.equal(['CONNECTION', false, link.refusal]);
        expect(error.message).to.contain('WRONGPASS');
      }
    });

    it('is forgiven once it does', async () => {
      link.up = false;
      link.refusal = reply('NOAUTH');
      run('always');
      link.refusal = undefined;
      const later = run('always');
      link.open();
      link.last.resolve(1);
      await settle();
      expect(later.value).to.equal(1);
    });
  });

  describe('a server that cannot serve now', () => {
    for (const message of ['READONLY', 'LOADING', 'BUSY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'NOREPLICAS']) {
      it(`${message}: is asked again, whatever the script`, async () => {
        const sendRecord = newSendRecord();
        const outcome = run('never', { sendRecord }, RESEND_FLAG);
        link.last.reject(reply(`${message} not now`));
        await settle();
        expect([link.sent.length, sendRecord.sends]).to.deep.equal([1, 0]);
        await clock.tickAsync(30);
        expect([link.sent.length, sendRecord.sends]).to.deep.equal([2, 1]);
        expect(link.last.args[3], 'it never ran').to.equal('0');
        link.last.resolve('served');
        await settle();
        expect(outcome.value).to.equal('served');
      });
    }

    it('refuses the only attempt of an acquisition at once', async () => {
      const outcome = run('never', { sendRecord: newSendRecord({ waits: false }) });
      link.last.reject(reply('NOREPLICAS not now'));
      await settle();
      expect(errorOf(outcome)).to.include({ code: 'COMMAND', reply: 'NOREPLICAS' });
    });

    for (const message of ['OOM', 'MISCONF']) {
      it(`C11: ${message}: is asked again by who waits for the lock, and by nobody else`, async () => {
        const waits = run('never', { sendRecord: newSendRecord({ waits: true }) });
        link.last.reject(reply(`${message} not now`));
        await clock.tickAsync(30);
        expect([waits.state, link.sent.length]).to.deep.equal(['pending', 2]);
        link.last.resolve('served');
        await settle();
        expect(waits.value).to.equal('served');
        for (const acquirer of [{ waits: false }, undefined]) {
          const tries = run('never', { sendRecord: newSendRecord(acquirer) });
          link.last.reject(reply(`${message} not now`));
          await settle();
          expect(errorOf(tries)).to.include({ code: 'COMMAND', reply: message });
        }
      });
    }

    it('is recognised where an old Redis wraps what it says to a script', async () => {
      const outcome = run('never');
      link.last.reject(
        reply(
          "ERR Error running script (call to f_1): @user_script:3: -READONLY You can't write against a read only replica.",
        ),
      );
      await clock.tickAsync(30);
      expect([outcome.state, link.sent.length]).to.deep.equal(['pending', 2]);
    });

    it('is asked less and less often, but often enough, and as long as a call may wait', async () => {
      const outcome = run('never');
      const times: number[] = [];
      while (outcome.state === 'pending') {
        times.push(clock.now);
        const { length } = link.sent;
        link.last.reject(reply('CLUSTERDOWN The cluster is down'));
        await settle();
        while (outcome.state === 'pending' && link.sent.length === length) await clock.tickAsync(5);
      }
      expect(clock.now).to.be.within(LONGEST_WAIT, LONGEST_WAIT + 500);
      expect(times.length).to.be.within(8, 20);
      const error = errorOf(outcome);
      expect([error.code, (error.cause as Error).message]).to.deep.equal([
        'COMMAND',
        'CLUSTERDOWN The cluster is down',
      ]);
    });

    it('leaves an earlier doubt in doubt', async () => {
      const outcome = run('connection');
      link.break();
      link.open();
      await settle();
      link.open();
      while (outcome.state === 'pending') {
        link.last.reject(reply('READONLY'));
        await clock.tickAsync(400);
      }
      expect([errorOf(outcome).code, errorOf(outcome).mayHaveRun]).to.deep.equal(['CONNECTION', true]);
    });

    it('is not asked again for somebody who has left', async () => {
      const sendRecord = newSendRecord();
      const outcome = run('never', { sendRecord });
      link.last.reject(reply('BUSY'));
      await settle();
      sendRecord.cancelled = true;
      await clock.tickAsync(100);
      expect([outcome.state, link.sent.length]).to.deep.equal(['rejected', 1]);
    });

    it('and one that names another node leads there at once, a few times', async () => {
      const outcome = run('never');
      const moved = new Error('The cluster sends it from node to node');
      for (let i = 0; i < 3; i++) {
        link.last.reject(moved);
        await settle();
      }
      expect(link.sent.length).to.equal(4);
      link.last.reject(moved);
      await settle();
      expect(link.sent.length).to.equal(4);
      await clock.tickAsync(400);
      link.last.resolve('there');
      await settle();
      expect(outcome.value).to.equal('there');
    });
  });

  describe('a refusal', () => {
    it('is told with the answer as its cause, and nothing is tried again', async () => {
      const sendRecord = newSendRecord();
      const outcome = run('always', { sendRecord });
      const answer = reply("NOPERM this user has no permissions to run the 'evalsha' command");
      link.last.reject(answer);
      await settle();
      expect([errorOf(outcome).code, errorOf(outcome).cause]).to.deep.equal(['COMMAND', answer]);
      // A script may be refused in the middle.
      expect([link.sent.length, sendRecord.sends]).to.deep.equal([1, 1]);
    });

    it('of a key of another type names it', async () => {
      const outcome = run('never');
      link.last.reject(reply('WRONGTYPE Operation against a key holding the wrong kind of value'));
      await settle();
      expect(errorOf(outcome).message).to.contain("'a'").and.contain('another type');
    });
  });

  describe('an answer that does not come', () => {
    it('is a time-out, and the link is told; it may have run', async () => {
      const outcome = run('never');
      await clock.tickAsync(TIMEOUT - 1);
      expect(outcome.state).to.equal('pending');
      await clock.tickAsync(1);
      expect([errorOf(outcome).code, errorOf(outcome).mayHaveRun]).to.deep.equal(['COMMAND_TIMEOUT', true]);
      expect(link.silences).to.deep.equal([0]);
    });

    it('is asked for again where a repeat changes nothing, up to the retries', async () => {
      const outcome = run('always');
      await clock.tickAsync(TIMEOUT * (RETRIES + 1) - 1);
      expect([outcome.state, link.sent.length]).to.deep.equal(['pending', RETRIES + 1]);
      await clock.tickAsync(1);
      expect(errorOf(outcome).code).to.equal('COMMAND_TIMEOUT');
    });

    it('may come late, to whoever undoes it', async () => {
      const late: unknown[] = [];
      const outcome = run('never', { late: (value) => late.push(value) });
      await clock.tickAsync(TIMEOUT);
      expect(outcome.state).to.equal('rejected');
      link.last.resolve('late');
      await settle();
      expect(late).to.deep.equal(['late']);
    });

    it('of an earlier sending is as good as that of a later one; its failure does not matter', async () => {
      const failed = run('always');
      const answered = run('always');
      await clock.tickAsync(TIMEOUT);
      expect(link.sent.length).to.equal(4);
      link.sent[0]?.reject(new Error('Connection is closed.'));
      link.sent[1]?.resolve('first');
      await settle();
      expect([failed.state, answered.value, link.sent.length]).to.deep.equal(['pending', 'first', 4]);
      await clock.tickAsync(TIMEOUT * RETRIES);
      expect(errorOf(failed).code).to.equal('COMMAND_TIMEOUT');
    });

    it('is not asked for again when it comes before there is a connection to ask on', async () => {
      const outcome = run('always');
      link.up = false;
      await clock.tickAsync(TIMEOUT);
      link.last.resolve('late but fine');
      await settle();
      link.open();
      expect([outcome.value, link.sent.length]).to.deep.equal(['late but fine', 1]);
    });

    it('is given longer where replicas may have to confirm', async () => {
      link.syncTimeout = 500;
      const outcome = run('never');
      await clock.tickAsync(TIMEOUT + 499);
      expect(outcome.state).to.equal('pending');
      await clock.tickAsync(1);
      expect(outcome.state).to.equal('rejected');
    });
  });

  describe('an answer that is none of the command, as behind a proxy that has lost one', () => {
    const decode = (value: unknown): number => (value as readonly number[]).indexOf(1);
    let left: unknown[];

    beforeEach(() => {
      left = [];
      Object.assign(link, { giveUp: (key: unknown) => left.push(key) });
    });

    it('leaves the connection, and the command is in doubt: an error in time, and none that nobody catches', async () => {
      const outcome = new Outcome(executor.run(script('never', { decode }), { name: 'a' }, { arg: 'x' }));
      link.last.resolve(undefined);
      await settle();
      expect(errorOf(outcome)).to.include({ code: 'CONNECTION', mayHaveRun: true });
      expect(left).to.deep.equal(['a']);
    });

    it('leaves the connection, and what may be repeated is sent again', async () => {
      const outcome = new Outcome(executor.run(script('always', { decode }), { name: 'a' }, { arg: 'x' }));
      link.last.resolve(undefined);
      await settle();
      expect(left).to.deep.equal(['a']);
      link.last.resolve([1]);
      await settle();
      expect(outcome.value).to.equal(0);
      expect(left).to.have.length(1);
    });
  });

  describe('replicas', () => {
    const acquired = { synced: (value: unknown) => value === 'acquired' };

    async function confirmed(acked: number | Error | undefined, value: string, options: RunOptions = {}) {
      const outcome = new Outcome(executor.run(script('connection', acquired), { name: 'a' }, { arg: 1 }, options));
      link.last.replicaAck!.acked = acked;
      link.last.resolve(value);
      await settle();
      return outcome;
    }

    it('that confirm an acquisition, or are not there, let it succeed', async () => {
      expect((await confirmed(1, 'acquired')).value).to.equal('acquired');
      expect((await confirmed(undefined, 'acquired')).value).to.equal('acquired');
    });

    it('that do not confirm an acquisition make it fail, and whoever undoes it is told', async () => {
      const late: unknown[] = [];
      const outcome = await confirmed(0, 'acquired', { late: (value) => late.push(value) });
      expect(errorOf(outcome).code).to.equal('NO_SYNCED_REPLICAS');
      expect(late).to.deep.equal(['acquired']);
    });

    it('need not confirm that nothing was acquired', async () => {
      expect((await confirmed(0, 'held by others')).value).to.equal('held by others');
    });

    it('that nobody heard from, since the connection broke, are asked again', async () => {
      const outcome = await confirmed(new Error('The connection was lost before WAIT'), 'acquired');
      expect([outcome.state, link.sent.length]).to.deep.equal(['pending', 2]);
      link.last.replicaAck!.acked = 1;
      link.last.resolve('acquired');
      await settle();
      expect(outcome.value).to.equal('acquired');
    });

    for (const earlier of [0, 1, new Error('The connection was lost before WAIT')]) {
      it(`say nothing of what is written again: ${String(earlier)} belongs to the writing that met NOSCRIPT`, async () => {
        const sendRecord = newSendRecord();
        const outcome = await confirmedAfterNoScript(earlier, sendRecord);
        expect(link.last.command).to.equal('eval');
        expect(link.last.replicaAck!.acked).to.equal(undefined);
        link.last.resolve('acquired');
        await settle();
        expect([outcome.value, sendRecord.unconfirmed]).to.deep.equal(['acquired', undefined]);
      });
    }

    async function confirmedAfterNoScript(acked: number | Error, sendRecord: SendRecord): Promise<Outcome<unknown>> {
      const one = script('connection', acquired);
      executor.run(one, { name: 'a' }, { arg: 1 }).catch(() => undefined);
      const outcome = new Outcome(executor.run(one, { name: 'a' }, { arg: 1 }, { sendRecord }));
      expect(link.last.command).to.equal('evalsha');
      link.last.replicaAck!.acked = acked;
      link.last.reject(reply('NOSCRIPT No matching script.'));
      await settle();
      return outcome;
    }

    it('do not matter where they shall not be checked, or the script does not care', async () => {
      const relaxed = { timeout: 1, retryAttempts: 1, slavesSyncTimeout: 1, checkLockSyncedSlaves: false };
      executor = new Executor(link, relaxed);
      expect((await confirmed(0, 'acquired')).value).to.equal('acquired');
      executor = make();
      const plain = run('never');
      expect(link.last.replicaAck).to.equal(undefined);
      link.last.resolve(1);
      await settle();
      expect(plain.value).to.equal(1);
    });
  });

  describe('is busy', () => {
    it('with what is under way, waits, or pauses, until it is settled', async () => {
      expect(executor.busy).to.equal(false);
      run('never');
      expect(executor.busy).to.equal(true);
      link.last.reject(reply('LOADING'));
      await settle();
      expect(executor.busy).to.equal(true);
      await clock.tickAsync(400);
      link.last.resolve(1);
      await settle();
      expect(executor.busy).to.equal(false);
      link.up = false;
      run('never');
      expect(executor.busy).to.equal(true);
      await clock.tickAsync(LONGEST_WAIT);
      expect(executor.busy).to.equal(false);
    });

    it('not with what was answered while it waited for a connection to be sent again: a drain would wait for it', async () => {
      const outcome = run('always');
      link.up = false;
      await clock.tickAsync(TIMEOUT);
      link.last.resolve('late but fine');
      await settle();
      expect([outcome.value, executor.busy]).to.deep.equal(['late but fine', false]);
    });

    it('not with what was answered while it paused', async () => {
      const outcome = run('always');
      await clock.tickAsync(TIMEOUT);
      expect(link.sent.length).to.equal(2);
      link.sent[1]!.reject(reply('BUSY'));
      await settle();
      link.sent[0]!.resolve('first');
      await settle();
      expect([outcome.value, executor.busy]).to.deep.equal(['first', false]);
      await clock.tickAsync(LONGEST_WAIT);
      expect([link.sent.length, clock.countTimers()]).to.deep.equal([2, 0]);
    });

    it('not with what nobody waits for any more, and was never sent', async () => {
      const [waits, pauses] = [newSendRecord(), newSendRecord()];
      run('never', { sendRecord: pauses });
      link.last.reject(reply('BUSY'));
      await settle();
      link.up = false;
      run('never', { sendRecord: waits });
      expect(executor.busy).to.equal(true);
      waits.cancelled = pauses.cancelled = true;
      expect(executor.busy).to.equal(false);
    });
  });

  describe('the budget of a call (E12)', () => {
    const ask = (options?: RunOptions): Outcome<unknown> => new Outcome(executor.call('get', ['a'], options));
    const once = (): RunOptions => ({ sendRecord: newSendRecord({ waits: false }) });
    const patiently = (): RunOptions => ({ sendRecord: newSendRecord({ waits: true }) });

    const endsOf = (outcomes: readonly Outcome<unknown>[]) => outcomes.map(({ at }) => at);

    it('of what only asks, and of a single attempt, is the time-out: they are not asked again', async () => {
      const query = script('always', { query: true });
      const queried = new Outcome(executor.run(query, { name: 'a' }, { arg: 1 }));
      const brief = [ask(), run('always', once()), queried];
      await clock.tickAsync(20_000);
      expect(endsOf(brief)).to.deep.equal([TIMEOUT, TIMEOUT, TIMEOUT]);
      expect(brief.map((one) => errorOf(one).code)).to.deep.equal(Array.from(brief, () => 'COMMAND_TIMEOUT'));
      expect(link.sent.length).to.equal(3);
    });

    it('includes waiting for a connection, and sending again', async () => {
      const lost = ask();
      await clock.tickAsync(600);
      link.break();
      const waiting = [ask(), run('always', once())];
      await clock.tickAsync(200);
      link.open();
      expect(link.sent.length).to.equal(4);
      await clock.tickAsync(20_000);
      expect(endsOf([lost, ...waiting])).to.deep.equal([TIMEOUT, 600 + TIMEOUT, 600 + TIMEOUT]);
      expect(link.sent.length).to.equal(4);
    });

    it('is longer where a server answers that it cannot just now', async () => {
      const outcomes = [ask(), run('always', once())];
      for (let answered = 0; clock.now < 20_000; await clock.tickAsync(10)) {
        for (; answered < link.sent.length; answered++) link.sent[answered]!.reject(reply('LOADING'));
      }
      expect(outcomes.map((one) => errorOf(one).code)).to.deep.equal(['COMMAND', 'COMMAND']);
      for (const { at } of outcomes) expect(at).to.be.within(LONGEST_WAIT, LONGEST_WAIT + 20);
    });

    it('does not begin anew where that server is frozen then', async () => {
      const outcome = ask();
      link.last.reject(reply('LOADING'));
      await clock.tickAsync(20_000);
      expect(outcome.at).to.equal(LONGEST_WAIT);
      expect(errorOf(outcome).code).to.equal('COMMAND_TIMEOUT');
    });

    it('that its caller gives it counts alone; a late answer is ignored', async () => {
      const [short, long] = [ask({ timeout: 300 }), ask({ timeout: 1_500 })];
      await clock.tickAsync(400);
      expect(errorOf(short)).to.include({ code: 'COMMAND_TIMEOUT', mayHaveRun: true });
      expect([executor.busy, link.silences]).to.deep.equal([true, []]);
      link.sent[0]!.resolve('late');
      await clock.tickAsync(20_000);
      expect(endsOf([short, long])).to.deep.equal([300, 1_500]);
      // The link is told of each answer that has not come within the time-out.
      expect(link.silences).to.deep.equal([0, TIMEOUT]);
    });

    it('of what changes something, or waits for it, is that of a connection and two silent time-outs', async () => {
      link.syncTimeout = 100;
      const outcomes = [run('always'), run('always', patiently())];
      await clock.tickAsync(TIMEOUT + 99);
      for (let i = 0; i < 2; i++) {
        link.break();
        await clock.tickAsync(LONGEST_WAIT / 2);
        link.open();
        await clock.tickAsync(TIMEOUT + 99);
      }
      await clock.tickAsync(20_000);
      const end = LONGEST_WAIT + 2 * (TIMEOUT + 100);
      expect(endsOf(outcomes)).to.deep.equal([end, end]);
      expect(outcomes.map((one) => errorOf(one).mayHaveRun)).to.deep.equal([true, true]);
    });
  });

  describe('a silence (E12)', () => {
    let told: string[];

    beforeEach(() => {
      told = [];
      executor.onSilence = (silent) => told.push(`${silent ? 'silent' : 'heard'} ${clock.now}`);
    });

    it('is told when the oldest command has had no answer for as long as the time-out, and its end with an answer', async () => {
      run('never');
      await clock.tickAsync(500);
      run('never');
      link.sent[0]!.resolve(1);
      await clock.tickAsync(TIMEOUT - 1);
      expect(told).to.deep.equal([]);
      await clock.tickAsync(3_000);
      link.last.resolve('late');
      await settle();
      expect(told).to.deep.equal([`silent ${500 + TIMEOUT}`, 'heard 4499']);
      await clock.tickAsync(10_000);
      expect([told.length, clock.countTimers()]).to.deep.equal([2, 0]);
    });

    it('is told after 1.5 s where the time-out is longer, and ends with the connection', async () => {
      executor = make({ timeout: 3_000 });
      executor.onSilence = (silent) => told.push(`${silent ? 'silent' : 'heard'} ${clock.now}`);
      run('never');
      await clock.tickAsync(1_700);
      link.break();
      await clock.tickAsync(5_000);
      expect(told).to.deep.equal(['silent 1500', 'heard 1700']);
    });

    it('is none where everything is answered, however long nothing is sent', async () => {
      for (let i = 0; i < 5; i++) {
        run('never');
        await clock.tickAsync(TIMEOUT - 1);
        link.last.resolve(1);
        await settle();
      }
      await clock.tickAsync(10_000);
      expect([told, clock.countTimers()]).to.deep.equal([[], 0]);
    });
  });

  it('a cleanup is sent with the text of its script while the client closes: it could not be sent again', async () => {
    void run('always');
    link.last.resolve('done');
    await settle();
    let late: unknown;
    const taken = run('always', { late: (value: unknown) => (late = value) });
    const underWay = link.last;
    const closing = executor.close();
    await settle();
    expect([taken.state, underWay.command]).to.deep.equal(['rejected', 'evalsha']);
    void run('always', { sendRecord: newCleanupRecord() });
    expect(link.last.command).to.equal('eval');
    expect(link.last.args[0]).to.equal(SCRIPTS.always.lua);
    underWay.resolve('taken');
    await clock.tickAsync(TIMEOUT);
    await closing;
    expect(late).to.equal('taken');
  });

  it('close settles everything: what waits, pauses, is under way, and comes later', async () => {
    const underWay = run('always');
    const pausing = run('always');
    link.last.reject(reply('BUSY'));
    await settle();
    link.up = false;
    const waiting = run('always');
    await executor.close();
    const later = run('always');
    await settle();
    for (const outcome of [underWay, pausing, waiting, later]) expect(errorOf(outcome).code).to.equal('SHUTDOWN');
    expect(link.closed).to.equal(true);
    expect(clock.countTimers()).to.equal(0);
    link.sent[0]?.reject(new Error('Connection is closed.'));
    await settle();
    expect(link.sent.length).to.equal(2);
  });
});
