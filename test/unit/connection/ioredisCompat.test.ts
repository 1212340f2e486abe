import { expect } from 'chai';
import { Command, Redis } from 'ioredis';
import { commandMaker, sendCommand, type CommandStream } from '../../../lib/connection/ioredisCompat';

const NO_STREAM = {} as CommandStream;

/** As much of a connection as sending needs. */
function connection(send: (command: Command) => unknown, Type: unknown = Command): Redis {
  return { constructor: { Command: Type }, sendCommand: send } as unknown as Redis;
}

describe('a command of ours', () => {
  const sha = '0123456789abcdef0123456789abcdef01234567';
  const make = commandMaker(connection(() => undefined));

  it('is an ordinary one, and nothing but that (B3)', () => {
    const command = make('evalsha', [sha, 0]);
    expect(Object.getPrototypeOf(command)).to.equal(Command.prototype);
    expect(Object.keys(command)).to.have.members(Object.keys(new Command('evalsha', [sha, 0])));
    expect(command.promise).to.be.a('promise');
  });

  for (const [what, name, args] of [
    ['a script', 'evalsha', [sha, 1, 'lock', 30_000, 'owner', 1]],
    ['the text of a script', 'eval', ['return 1', 0, 'ä']],
    ['a plain command', 'hget', ['näme 🔒', 'field']],
    ['no arguments', 'ping', []],
    ['numbers that are not small', 'evalsha', [sha, 1, '', 2 ** 53 - 1, -1, 0.5]],
    ['raw bytes', 'evalsha', [sha, 1, 'permits', Buffer.from([0, 255, 13, 10]), 7, 'ä']],
  ] as const) {
    it(`is written as ioredis writes it, and again when it is sent again: ${what}`, () => {
      const given = [...args];
      const expected = new Command(name, [...args]).toWritable({});
      expect(make(name, given).toWritable({})).to.deep.equal(expected);
      expect(make(name, given).toWritable({})).to.deep.equal(expected);
    });
  }

  it('has its reply as text where there is any', async () => {
    const replies: unknown[] = [];
    for (const reply of [null, 5, Buffer.from('ä'), [Buffer.from('1'), 2]]) {
      const command = make('evalsha', [sha, 0]);
      command.resolve(reply);
      replies.push(await command.promise);
    }
    expect(replies).to.deep.equal([null, 5, 'ä', ['1', 2]]);
  });

  it('is made the plain way where the ioredis at hand writes one that is filled afterwards differently', () => {
    class Frozen extends Command {
      readonly #made: string | Buffer;

      constructor(...given: ConstructorParameters<typeof Command>) {
        super(...given);
        this.#made = super.toWritable({});
      }

      override toWritable(): string | Buffer {
        return this.#made;
      }
    }
    const command = commandMaker(connection(() => undefined, Frozen))('evalsha', [sha, 1, 'a', 7]);
    expect(command).to.be.instanceOf(Frozen);
    expect(command.toWritable({})).to.equal(new Command('evalsha', [sha, 1, 'a', 7]).toWritable({}));
  });

  it('is of the ioredis that its connection is of', () => {
    class Theirs extends Command {}
    expect(commandMaker(connection(() => undefined, Theirs))('ping', [])).to.be.instanceOf(Theirs);
    const redis = new Redis({ lazyConnect: true });
    expect(commandMaker(redis)('ping', [])).to.be.instanceOf(Command);
    redis.disconnect();
  });
});

describe('sending a command', () => {
  it('gives what sendCommand returns', async () => {
    const redis = connection(() => Promise.resolve('traced'));
    expect(await sendCommand(redis, new Command('ping'), NO_STREAM)).to.equal('traced');
  });

  it('gives the command’s own promise where a wrapper returns nothing', async () => {
    const command = new Command('ping', [], { replyEncoding: 'utf8' });
    const reply = sendCommand(
      connection(() => undefined),
      command,
      NO_STREAM,
    );
    command.resolve(Buffer.from('PONG'));
    expect(await reply).to.equal('PONG');
  });

  it('rejects where a wrapper throws', async () => {
    const broken = new Error('broken hook');
    const redis = connection((command) => {
      command.reject(new Error('Connection is closed.'));
      throw broken;
    });
    const reply = sendCommand(redis, new Command('ping'), NO_STREAM);
    expect(await reply.catch((error: unknown) => error)).to.equal(broken);
  });
});
