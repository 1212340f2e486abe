// Ids in titles: test/README.md
import { expect } from 'chai';
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import {
  checkClientsIoredis,
  checkIoredis,
  commandMaker,
  refuseUnfit,
  sendCommand,
  senderOf,
  startNodesOf,
  startupNodesOf,
  UNSENT_TEXT,
  type CommandStream,
} from '../../../lib/connection/link/ioredisCompat';
import { classify } from '../../../lib/connection/link/replyErrors';
import { ConfigError } from '../../../lib/errors';

const NO_STREAM = {} as CommandStream;

/** As much of a connection as sending needs. */
function connection(send: (command: Command) => unknown): Redis {
  return { sendCommand: send } as unknown as Redis;
}

describe('a command of ours', () => {
  const sha = '0123456789abcdef0123456789abcdef01234567';
  const make = commandMaker();

  it('is an ordinary one, and nothing but that (B3)', () => {
    const command = make('evalsha', [sha, 0]);
    expect(Object.getPrototypeOf(command)).to.equal(Command.prototype);
    // It joins its text itself, for speed; what it joins is what ioredis would write (see below).
    expect(Object.keys(command)).to.have.members([...Object.keys(new Command('evalsha', [sha, 0])), 'toWritable']);
    expect(command.promise).to.be.a('promise');
  });

  for (const [what, name, args] of [
    ['a script', 'evalsha', [sha, 1, 'lock', 30_000, 'owner', 1]],
    ['the text of a script', 'eval', ['return 1', 0, 'ä']],
    ['a plain command', 'hget', ['näme 🔒', 'field']],
    ['no arguments', 'ping', []],
    ['numbers that are not small', 'evalsha', [sha, 1, '', 2 ** 53 - 1, -1, 0.5]],
    ['a script with other keys than before', 'evalsha', [sha, 2, 'lock', 'other', 'owner', 1]],
    ['a script whose name or owner has a line break', 'evalsha', [sha, 1, 'a\r\nb', '\ud800']],
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
    const command = commandMaker(Frozen)('evalsha', [sha, 1, 'a', 7]);
    expect(command).to.be.instanceOf(Frozen);
    expect(command.toWritable({})).to.equal(new Command('evalsha', [sha, 1, 'a', 7]).toWritable({}));
  });
});

describe('sending a command', () => {
  it('goes through call() where the connection is of another copy of ioredis', async () => {
    const calls: unknown[] = [];
    const theirs = {
      call(...call: unknown[]) {
        calls.push(call);
        return Promise.resolve('theirs');
      },
    } as unknown as Redis;
    expect(await senderOf(theirs)('evalsha', ['sha', 1, 'a'], NO_STREAM)).to.equal('theirs');
    expect(calls).to.deep.equal([['evalsha', 'sha', 1, 'a']]);
  });

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

describe('the ioredis at hand (B14)', () => {
  it('is fit', () => {
    expect(() => checkIoredis()).not.to.throw();
  });

  it('is taken by a client of its own, and one that lacks something is refused', () => {
    const client = new Redis({ lazyConnect: true });
    expect(() => checkClientsIoredis(client)).not.to.throw();
    client.disconnect();
    const half = { duplicate: () => undefined, on: () => undefined } as unknown as Redis;
    expect(() => checkClientsIoredis(half)).to.throw(ConfigError, 'no call()');
  });

  for (const version of ['5.5.0', '4.28.5']) {
    it(`is refused by its version where it is too old: ${version}`, () => {
      expect(() => refuseUnfit(version, Redis)).to.throw(ConfigError, `found ioredis ${version}`);
    });
  }

  it('D13: is taken as iovalkey, whose versions are others', () => {
    refuseUnfit('0.4.0', Redis, 'iovalkey');
  });

  it('is refused by its version where it lacks what cannot be replaced', () => {
    class NoSending {
      static readonly Command = Command;
    }
    const Type = NoSending as unknown as typeof Redis;
    expect(() => refuseUnfit('6.9.0', Type)).to.throw(ConfigError, 'ioredis 6.9.0 has no Redis.prototype.sendCommand');
  });

  it('is refused where its commands are written differently', () => {
    class Other extends Redis {}
    class OtherCommand extends Command {
      override toWritable(): string {
        return 'EVALSHA';
      }
    }
    Object.defineProperty(Other, 'Command', { value: OtherCommand });
    expect(() => refuseUnfit(undefined, Other)).to.throw(ConfigError, 'Command that writes RESP');
  });

  it('is warned of, once it fits, where nobody has tried it', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    refuseUnfit('7.0.0', Redis);
    expect(await warned).to.have.property('code', 'IOREDISSON_IOREDIS_VERSION');
  });

  it('says what was not written, and what was lost, in the words that are known', async () => {
    /** Never connects. */
    class Nowhere {
      connect(): Promise<never> {
        return new Promise(() => undefined);
      }

      disconnect(): void {
        // There is nothing to end.
      }

      check(): boolean {
        return true;
      }
    }
    const Connector = Nowhere as unknown as NonNullable<RedisOptions['Connector']>;
    const redis = new Redis({ Connector, enableOfflineQueue: false });
    const refused = await redis.ping().catch((error: Error) => error);
    expect(refused).to.have.property('message').that.matches(UNSENT_TEXT);
    expect(classify(refused as Error)).to.equal('unsent');
    redis.disconnect();
  });

  it('gives the start nodes of a cluster client, else the nodes that it knows', async () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 7_001 }], { lazyConnect: true });
    expect(await startNodesOf(cluster)()).to.deep.include({ host: '127.0.0.1', port: 7_001 });
    cluster.disconnect();
    const other = {
      duplicate: () => ({}),
      nodes: () => [{ options: { host: '10.0.0.1', port: 7_002 } }],
    } as unknown as Cluster;
    expect(await startNodesOf(other)()).to.deep.equal([{ host: '10.0.0.1', port: 7_002 }]);
    expect(startupNodesOf(other)).to.deep.equal([{ host: '10.0.0.1', port: 7_002 }]);
  });

  it('says what to do where a cluster client tells no start nodes, and knows no nodes yet', async () => {
    const silent = { duplicate: () => ({}), nodes: () => [] } as unknown as Cluster;
    const error = await startNodesOf(silent)().catch((reason: unknown) => reason);
    expect(error)
      .to.be.instanceOf(ConfigError)
      .with.property('message')
      .that.matches(/Wait until it is ready/);
    expect(() => startupNodesOf(silent)).to.throw(ConfigError, /clusterServersConfig/);
  });
});
