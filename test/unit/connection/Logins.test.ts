// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { SinonFakeTimers } from 'sinon';
import type { Credentials, StreamingCredentialsListener } from '../../../lib';
import { LoginError, Logins } from '../../../lib/connection/link/Logins';
import { loginSource } from '../../../lib/connection/link/loginSources';
import { fakeClock } from '../../support';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REQUEST = { host: 'h', port: 1, role: 'master' } as const;

/** A socket whose server answers AUTH with `says`. */
class FakeSocket extends EventEmitter {
  readonly connecting = false;
  readonly destroyed = false;
  readonly written: string[] = [];
  readonly #says: string;

  constructor(says = '+OK\r\n') {
    super();
    this.#says = says;
  }

  get socket(): Socket {
    return this as unknown as Socket;
  }

  write(text: string): void {
    this.written.push(text);
    queueMicrotask(() => this.emit('data', Buffer.from(this.#says)));
  }
}

describe('Logins (D1)', () => {
  let clock: SinonFakeTimers;
  const never = new AbortController().signal;

  beforeEach(() => {
    clock = fakeClock();
  });

  const loginsOf = (credentials: Credentials): Logins =>
    new Logins(loginSource(credentials, 10_000), { connectTimeout: 10_000, timeout: 3_000 });

  /** A connection that is logged in, and of use. */
  async function connected(
    logins: Logins,
    reply = (): Promise<string> => Promise.resolve('OK'),
  ): Promise<{ redis: EventEmitter & { status: string }; sent: string[] }> {
    const socket = new FakeSocket();
    const stream = await logins.open(REQUEST, false, () => socket.socket, never);
    expect(socket.written).to.have.length(1);
    expect(socket.written[0]).to.match(/^\*[23]\r\n\$4\r\nAUTH\r\n/);
    // What it has added to the socket is gone: ioredis gets it as it was.
    expect(socket.eventNames()).to.deep.equal([]);
    const redis = Object.assign(new EventEmitter(), { status: 'ready', stream });
    const sent: string[] = [];
    const auth = (args: string[]): Promise<string> => {
      sent.push(args.join(' '));
      return reply();
    };
    logins.keep(redis as unknown as Redis, { auth });
    redis.emit('ready');
    return { redis, sent };
  }

  it('a day of tokens that live 15 minutes: each is sent before the one before it is over', async () => {
    const issuedAt: number[] = [];
    const logins = loginsOf(() => {
      issuedAt.push(clock.now);
      return { username: 'app', password: `token-${issuedAt.length}`, expiresIn: 15 * MINUTE };
    });
    const { redis, sent } = await connected(logins);
    await clock.tickAsync(24 * HOUR);
    expect(sent).to.have.length(24 * 5);
    expect(sent[0]).to.equal('app token-2');
    issuedAt.reduce((before, at) => {
      expect(at - before).to.be.lessThan(15 * MINUTE);
      return at;
    });
    redis.status = 'end';
    redis.emit('end');
    await clock.tickAsync(HOUR);
    expect(sent).to.have.length(24 * 5);
    expect(clock.countTimers()).to.equal(0);
  });

  it('a master that sentinels named is logged in over TLS, too, as soon as its socket is open', async () => {
    const logins = loginsOf(() => ({ password: 'token' }));
    const socket = new FakeSocket();
    const loggedIn = logins.logIn(socket.socket, 'master', true, never);
    socket.emit('secureConnect');
    await clock.tickAsync(1);
    expect(socket.written).to.deep.equal(['*2\r\n$4\r\nAUTH\r\n$5\r\ntoken\r\n']);
    await loggedIn;
  });

  it('a provider that fails for two minutes of each token is asked again until it gives the next in time', async () => {
    let until = 0;
    const logins = loginsOf(() => {
      if (clock.now >= 12 * MINUTE && clock.now < until) throw new Error('down');
      until = clock.now + 14 * MINUTE;
      return { password: 'token', expiresIn: 15 * MINUTE };
    });
    const { redis, sent } = await connected(logins);
    let before = 0;
    for (let hour = 0; hour < 6 * 60; hour++) {
      const count = sent.length;
      await clock.tickAsync(MINUTE);
      if (sent.length === count) continue;
      expect(clock.now - before).to.be.lessThan(16 * MINUTE);
      before = clock.now;
    }
    expect(sent.length).to.be.greaterThan(20);
    redis.emit('end');
    expect(clock.countTimers()).to.equal(0);
  });

  it('a provider that has failed for long, and then not, is asked again soon when it fails the next time', async () => {
    const asked: number[] = [];
    let givenAt = -Infinity;
    const logins = loginsOf(() => {
      asked.push(clock.now);
      // From when it is due, for a minute.
      if (clock.now < givenAt + 13 * MINUTE) throw new Error('down');
      givenAt = clock.now;
      return { password: 'token', expiresIn: 15 * MINUTE };
    });
    const { redis } = await connected(logins);
    await clock.tickAsync(37 * MINUTE);
    const gaps = asked.slice(1).map((at, i) => at - asked[i]!);
    const renewals = gaps.flatMap((gap, i) => (gap > 5 * MINUTE ? gaps.slice(i + 1, i + 2) : []));
    // Each outage begins with the first pause, however long the last one of the outage before was.
    expect(Math.max(...gaps.filter((gap) => gap < 5 * MINUTE))).to.be.greaterThan(2_000);
    expect(renewals.length).to.be.greaterThan(1);
    for (const pause of renewals) expect(pause).to.be.at.most(250);
    redis.emit('end');
  });

  it('a function that hangs is given up after the time-out, and asked again', async () => {
    let calls = 0;
    const logins = loginsOf(() =>
      ++calls === 2 ? new Promise(() => undefined) : { password: 'p', expiresIn: MINUTE },
    );
    const { redis, sent } = await connected(logins);
    await clock.tickAsync(MINUTE);
    expect([calls, sent.length]).to.deep.equal([3, 1]);
    redis.emit('end');
    expect(clock.countTimers()).to.equal(0);
  });

  it('a provider that hangs in subscribe is given up, disposed of when it answers, and subscribed to anew', async () => {
    let subscriptions = 0;
    let disposed = 0;
    let answer!: () => void;
    const subscription = { dispose: () => void disposed++ };
    const logins = loginsOf({
      subscribe: async (_listener: StreamingCredentialsListener) => {
        if (++subscriptions === 1) await new Promise<void>((resolve) => (answer = resolve));
        return [{ password: `token-${subscriptions}` }, subscription] as const;
      },
    });
    const first = logins.open(REQUEST, false, () => new FakeSocket().socket, never).catch((error: unknown) => error);
    await clock.tickAsync(10_000);
    expect(await first).to.be.instanceOf(LoginError);
    const { redis } = await connected(logins);
    expect([subscriptions, disposed]).to.deep.equal([2, 0]);
    answer();
    await clock.tickAsync(0);
    expect(disposed).to.equal(1);
    redis.emit('end');
    expect(disposed).to.equal(2);
    expect(clock.countTimers()).to.equal(0);
  });

  it('a refusal is final after the command time-out without a success, and shows no token', async () => {
    const logins = loginsOf(() => ({ username: 'app', password: 'geheim' }));
    const attempt = async (): Promise<LoginError> => {
      const socket = new FakeSocket("-ERR the words 'app' 'geheim' are wrong\r\n");
      return (await logins.open(REQUEST, false, () => socket.socket, never).catch((e: unknown) => e)) as LoginError;
    };
    const first = await attempt();
    expect(first).to.be.instanceOf(LoginError);
    expect(first.final).to.equal(false);
    expect(first.message).to.not.contain('geheim');
    await clock.tickAsync(3_000);
    expect((await attempt()).final).to.equal(true);
    await connected(logins);
    expect((await attempt()).final).to.equal(false);
  });

  it('a token that is always about to expire is asked for ten times a second, not more', async () => {
    let calls = 0;
    const logins = loginsOf(() => ({ password: `token-${++calls}`, expiresIn: 1 }));
    const { redis } = await connected(logins);
    await clock.tickAsync(MINUTE);
    expect(calls).to.be.within(100, 601);
    redis.emit('end');
    expect(clock.countTimers()).to.equal(0);
  });

  describe('what a provider is told of refusals', () => {
    let listener: StreamingCredentialsListener;
    let refused: string[];
    let subscriptions: number;
    const provider = {
      subscribe: (told: StreamingCredentialsListener) => {
        listener = told;
        subscriptions++;
        return Promise.resolve([{ password: 'token-1' }, { dispose: () => undefined }] as const);
      },
      onReAuthenticationError: (error: Error) => void refused.push(error.message),
    };

    beforeEach(() => {
      refused = [];
      subscriptions = 0;
    });

    const failure = (name: string, message: string) => (): Promise<never> =>
      Promise.reject(Object.assign(new Error(message), { name }));

    it('an AUTH that a live connection refuses is reported', async () => {
      const { redis } = await connected(loginsOf(provider), failure('ReplyError', 'WRONGPASS no'));
      listener.onNext({ password: 'token-2' });
      await clock.tickAsync(1);
      expect(refused).to.deep.equal(['WRONGPASS no']);
      redis.emit('end');
    });

    it('a connection that is lost before its AUTH is answered is no refusal', async () => {
      const { redis, sent } = await connected(loginsOf(provider), failure('Error', "Stream isn't writeable"));
      listener.onNext({ password: 'token-2' });
      await clock.tickAsync(1);
      expect([sent.length, refused.length, subscriptions]).to.deep.equal([1, 0, 1]);
      redis.emit('end');
    });

    it('a login that was replaced while it was under way is no refusal: the next attempt has the newer one', async () => {
      const logins = loginsOf(provider);
      const { redis } = await connected(logins);
      const socket = new FakeSocket();
      socket.write = () => {
        listener.onNext({ password: 'token-2' });
        queueMicrotask(() => socket.emit('data', Buffer.from('-WRONGPASS no\r\n')));
      };
      const attempt = logins.open(REQUEST, false, () => socket.socket, never).catch((error: unknown) => error);
      expect(await attempt).to.be.instanceOf(LoginError);
      expect([refused.length, subscriptions]).to.deep.equal([0, 1]);
      redis.emit('end');
    });
  });
});
