// Ids in titles: test/README.md
import { expect } from 'chai';
import { driverError } from '../../../lib/connection/link/driverError';

const WRONG = 'WRONGPASS invalid username-password pair or user is disabled.';
const NO_HELLO =
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time';

/** What is shown of an answer to a command. */
function shown(message: string, name: string, args: readonly string[]): string {
  return driverError(Object.assign(new Error(message), { command: { name, args } })).message;
}

describe("driverError: Redis' words, and nothing of what was sent", () => {
  for (const words of [
    WRONG,
    NO_HELLO,
    'ERR invalid password',
    'ERR Client sent AUTH, but no password is set',
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    "NOPERM User bob has no permissions to run the 'hello' command",
    'LOADING Redis is loading the dataset in memory',
    'NOPROTO unsupported protocol version',
  ]) {
    it(`B2: no word of "${words.slice(0, 40)}" is cut out, whatever the password is`, () => {
      for (const secret of [
        'pair',
        'user',
        'password',
        'a',
        'e',
        'invalid',
        'is',
        'has',
        'Redis',
        'AUTH',
        'unsupported',
      ]) {
        expect(shown(words, 'auth', [secret, secret])).to.equal(words);
        expect(shown(words, 'hello', ['3', 'AUTH', 'bob', secret])).to.equal(words);
      }
    });
  }

  it('B2: other words of a server that repeat what was sent are left out as a whole, with their code', () => {
    for (const text of ["ERR no 's3cret' here", 'ERR s3cret', 'ERR "bob" and others', "s3cret isn't known"]) {
      const message = shown(text, 'hello', ['3', 'AUTH', 'bob', 's3cret']);
      expect(message).to.match(/^ERR \(.*left out/);
      expect(message).to.not.match(/s3cret|bob|\*/);
    }
    expect(shown('ERR protocol error', 'auth', ['pro'])).to.equal('ERR protocol error');
  });

  it('B2: what an unknown command was sent with is cut off by rule', () => {
    const text = "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'bob' 'command' ";
    expect(shown(text, 'hello', ['3', 'AUTH', 'bob', 'command'])).to.equal("ERR unknown command 'HELLO'");
    expect(shown("NOPERM User a has no permissions to run the 'get' command", 'eval', ['get'])).to.contain("'get'");
  });
});
