import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { StreamingCredentialsListener } from '../../../lib';
import { loginSource } from '../../../lib/connection/link/loginSources';
import { fakeClock } from '../../support';

const REQUEST = { host: 'h', port: 1, role: 'master' } as const;
const never = new AbortController().signal;

describe('logins of a streaming provider (D1)', () => {
  let clock: SinonFakeTimers;
  let open: StreamingCredentialsListener[];
  let subscribed: number;
  let answer: () => Promise<string>;
  const provider = {
    async subscribe(listener: StreamingCredentialsListener) {
      subscribed++;
      const password = await answer();
      open.push(listener);
      return [{ password }, { dispose: () => void open.splice(open.indexOf(listener), 1) }] as const;
    },
  };

  beforeEach(() => {
    clock = fakeClock();
    open = [];
    subscribed = 0;
    answer = () => Promise.resolve(`token-${subscribed}`);
  });

  const giveUp = (): void => open[0]!.onError(new Error('given up'));

  it('one that has given up is subscribed to anew, and the live connections are told', async () => {
    const source = loginSource(provider, 1_000);
    let told = 0;
    source.listeners.add(() => told++);
    await source.ask(REQUEST, never);
    giveUp();
    expect(open).to.have.length(0);
    await clock.tickAsync(1_000);
    expect([subscribed, open.length, told]).to.deep.equal([2, 1, 1]);
    source.rest?.();
    expect([open.length, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('one that is asked after it has given up has one subscription, and the live connections are told all the same', async () => {
    const source = loginSource(provider, 1_000);
    let told = 0;
    source.listeners.add(() => told++);
    await source.ask(REQUEST, never);
    giveUp();
    expect((await source.ask(REQUEST, never)).password).to.equal('token-2');
    await clock.tickAsync(1_000);
    expect([subscribed, open.length, told]).to.deep.equal([2, 1, 1]);
    source.rest?.();
    expect(open).to.have.length(0);
  });

  it('one that fails while it is subscribed to anew is tried again, until nobody needs it', async () => {
    const source = loginSource(provider, 1_000);
    await source.ask(REQUEST, never);
    giveUp();
    answer = () => Promise.reject(new Error('down'));
    await clock.tickAsync(60_000);
    const before = subscribed;
    expect(before).to.be.greaterThan(5);
    await clock.tickAsync(60_000);
    expect(subscribed).to.be.greaterThan(before);
    source.rest?.();
    expect(clock.countTimers()).to.equal(0);
  });

  it('one that has failed for long, and then told of a login, is subscribed to soon when it gives up again', async () => {
    const source = loginSource(provider, 1_000);
    await source.ask(REQUEST, never);
    giveUp();
    const works = answer;
    answer = () => Promise.reject(new Error('down'));
    await clock.tickAsync(60_000);
    answer = works;
    await clock.tickAsync(60_000);
    open[0]!.onNext({ password: 'next' });
    const before = subscribed;
    giveUp();
    await clock.tickAsync(500);
    expect(subscribed - before).to.equal(1);
    source.rest?.();
  });

  it('one that hangs while it is subscribed to anew is tried again, and leaves nothing at the end', async () => {
    const source = loginSource(provider, 1_000);
    await source.ask(REQUEST, never);
    giveUp();
    let resolve: (token: string) => void = () => undefined;
    answer = () => new Promise((wanted) => (resolve = wanted));
    await clock.tickAsync(10_000);
    expect(subscribed).to.be.greaterThan(2);
    await clock.nextAsync();
    source.rest?.();
    resolve('late');
    await clock.tickAsync(60_000);
    expect([open.length, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('one that answers nonsense to a connection that is given up is subscribed to anew, and not twice', async () => {
    const source = loginSource(provider, 1_000);
    const unwanted = new AbortController();
    answer = () => Promise.resolve('');
    const asked = source.ask(REQUEST, unwanted.signal).catch((error: unknown) => error);
    unwanted.abort(new Error('given up'));
    await asked;
    answer = () => Promise.resolve('token');
    expect((await source.ask(REQUEST, never)).password).to.equal('token');
    expect([subscribed, open.length]).to.deep.equal([2, 1]);
    source.rest?.();
    expect(open).to.have.length(0);
  });

  it('one that tells nonsense is subscribed to anew', async () => {
    const source = loginSource(provider, 1_000);
    await source.ask(REQUEST, never);
    open[0]!.onNext({ username: 'ann' });
    await clock.tickAsync(1_000);
    expect((await source.ask(REQUEST, never)).password).to.equal('token-2');
    expect([subscribed, open.length]).to.deep.equal([2, 1]);
    source.rest?.();
  });

  it('one that gives up, or tells nonsense, while it is subscribed to is why there is no login', async () => {
    for (const [tell, message] of [
      [(listener: StreamingCredentialsListener) => listener.onError(new Error('expired')), 'credentials: expired'],
      [
        (listener: StreamingCredentialsListener) => listener.onNext({}),
        'credentials reported no password (a non-empty string)',
      ],
    ] as const) {
      const dispose = (): void => {
        throw new Error('already disposed of');
      };
      const source = loginSource(
        {
          subscribe: (listener) => {
            tell(listener);
            return Promise.resolve([{ password: 'token' }, { dispose }] as const);
          },
        },
        1_000,
      );
      const error = await source.ask(REQUEST, never).catch((reason: unknown) => reason);
      expect((error as Error).message).to.equal(message);
      source.rest?.();
      expect(clock.countTimers()).to.equal(0);
    }
  });

  it('one whose logins are refused is subscribed to anew, but not again and again', async () => {
    const source = loginSource(provider, 1_000);
    for (let i = 0; i < 20; i++) {
      const login = await source.ask(REQUEST, never);
      source.refused?.(new Error('WRONGPASS'), login);
      await clock.tickAsync(1_000);
    }
    expect(subscribed).to.equal(3);
    source.rest?.();
  });
});
