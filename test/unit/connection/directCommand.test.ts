import { expect } from 'chai';
import { Command } from 'ioredis';
import { directCommand, directCommands, type ReplySink } from '../../../lib/connection/directCommand';

/** Remembers what it is told. */
class Told implements ReplySink<string> {
  readonly replies: unknown[] = [];
  readonly failures: unknown[] = [];

  replied(call: string, reply: unknown): void {
    this.replies.push([call, reply]);
  }

  failed(call: string, writing: number, error: Error): void {
    this.failures.push([call, writing, error]);
  }
}

describe('a direct command', () => {
  const socket = {} as never;
  const written = (name: string, args: (string | number | Buffer)[]): unknown =>
    directCommand(name, args, new Told(), 'call', 1).toWritable(socket);
  const byIoredis = (name: string, args: (string | number | Buffer)[]): unknown =>
    new Command(name, [...args]).toWritable(socket);

  it('is taken by the ioredis at hand', () => {
    expect(directCommands).to.equal(true);
  });

  const sha = '0123456789abcdef0123456789abcdef01234567';
  for (const [what, name, args] of [
    ['a script', 'evalsha', [sha, 1, 'lock', 30_000, 'owner', 1]],
    ['the same script with other arguments', 'evalsha', [sha, 1, 'other', 5, 'me', 2]],
    ['the same script with more keys', 'evalsha', [sha, 2, 'a', 'b', 30_000, 'x', 'y']],
    ['as many arguments, more of them keys', 'evalsha', [sha, 3, 'a', 'b', 'c', 30_000, 'y']],
    ['the text of a script', 'eval', ['return 1', 0, 'ä']],
    ['a plain command', 'hget', ['näme 🔒', 'field']],
    ['no arguments', 'ping', []],
    ['numbers that are not small', 'evalsha', [sha, 1, '', 2 ** 53 - 1, -1, 0.5]],
    ['raw bytes', 'evalsha', [sha, 1, 'permits', Buffer.from([0, 255, 13, 10]), 7, 'ä']],
  ] as const) {
    it(`is written as ioredis writes it: ${what}`, () => {
      const given = [...args];
      expect(written(name, given)).to.deep.equal(byIoredis(name, [...args]));
      // They are the call's, which may send them again.
      expect(given).to.deep.equal([...args]);
    });
  }

  it('tells its reply, as text where there is any, and its error', () => {
    const told = new Told();
    const error = new Error('refused');
    const command = directCommand('evalsha', [sha, 0], told, 'call', 3);
    for (const reply of [null, 5, Buffer.from('ä'), [Buffer.from('1'), 2]]) command.resolve(reply);
    command.reject(error);
    expect(told.replies).to.deep.equal([
      ['call', null],
      ['call', 5],
      ['call', 'ä'],
      ['call', ['1', 2]],
    ]);
    expect(told.failures).to.deep.equal([['call', 3, error]]);
  });
});
