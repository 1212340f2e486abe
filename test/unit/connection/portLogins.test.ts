import { expect } from 'chai';
import { MessageChannel } from 'node:worker_threads';
import type { CredentialsRequest } from '../../../lib/config/Credentials';
import type { Login, LoginSource } from '../../../lib/connection/link/loginSources';
import { PortLogins, serveLogins } from '../../../lib/connection/link/portLogins';

const SENTINEL: CredentialsRequest = { host: 'sentinel', port: 26379, role: 'sentinel' };
const MASTER: CredentialsRequest = { host: 'master', port: 6379, role: 'master' };
const OTHER: CredentialsRequest = { host: 'other', port: 6379, role: 'master' };
/** One that no login was asked for yet. */
const PROMOTED: CredentialsRequest = { host: 'promoted', port: 6379, role: 'slave' };

describe('PortLogins', () => {
  it('while the main thread is busy each server gets its own last login, and a sentinel never that of a server', async () => {
    let busy = false;
    const source: LoginSource = {
      listeners: new Set(),
      ask: ({ host }) =>
        busy
          ? new Promise<Login>(() => undefined)
          : Promise.resolve({ username: undefined, password: `of ${host}`, expiresIn: undefined }),
    };
    const { port1, port2 } = new MessageChannel();
    const stop = serveLogins(source, port1);
    try {
      const logins = new PortLogins(port2, 10_000);
      const all = [SENTINEL, OTHER, MASTER];
      const ask = async (request: CredentialsRequest) => (await logins.ask(request)).password;
      for (const request of all) expect(await ask(request)).to.equal(`of ${request.host}`);
      busy = true;
      expect(await Promise.all([...all, PROMOTED].map(ask))).to.deep.equal([
        'of sentinel',
        'of other',
        'of master',
        'of master',
      ]);
    } finally {
      stop();
      port2.close();
    }
  });

  it('a last login that has expired is not used', async () => {
    let answer = true;
    const source: LoginSource = {
      listeners: new Set(),
      ask: () =>
        answer
          ? Promise.resolve({ username: undefined, password: 'old', expiresIn: 300 })
          : new Promise<Login>(() => undefined),
    };
    const { port1, port2 } = new MessageChannel();
    const stop = serveLogins(source, port1);
    try {
      const logins = new PortLogins(port2, 700);
      await logins.ask(MASTER);
      answer = false;
      const error: Error = await logins.ask(MASTER).then(
        () => expect.fail('it was used'),
        (rejection: Error) => rejection,
      );
      expect(error.message).to.contain('no answer within 700 ms');
    } finally {
      stop();
      port2.close();
    }
  });
});
