// Ids in titles: test/README.md
import { expect } from 'chai';
import { parseAddress, redactAddress } from '../../../lib/config/parse/address';
import { expectConfigError } from './support';

/** With the password in the open. */
const parse = (text: unknown): Omit<ReturnType<typeof parseAddress>, 'password'> & { password: string | undefined } => {
  const parsed = parseAddress(text, 'address');
  return Object.freeze({ ...parsed, password: parsed.password?.reveal() });
};

describe('parseAddress', () => {
  it('reads host and port', () => {
    expect(parse('redis://127.0.0.1:6380')).to.deep.equal({
      address: { host: '127.0.0.1', port: 6380 },
      tls: false,
      username: undefined,
      password: undefined,
      database: undefined,
    });
  });

  it('fills in the port', () => {
    expect(parse('redis://example.org').address).to.deep.equal({ host: 'example.org', port: 6379 });
    expect(parseAddress('redis://h', 'address', 26379).address.port).to.equal(26379);
  });

  it('knows the four schemes, in any case', () => {
    expect(parse('redis://h').tls).to.equal(false);
    expect(parse('valkey://h').tls).to.equal(false);
    expect(parse('rediss://h').tls).to.equal(true);
    expect(parse('valkeys://h').tls).to.equal(true);
    expect(parse('REDISS://h').tls).to.equal(true);
  });

  it('keeps a host with an underscore, as in Docker networks', () => {
    expect(parse('redis://my_redis:6379').address.host).to.equal('my_redis');
  });

  it('reads IPv6, with brackets and, as Redisson, without', () => {
    expect(parse('redis://[::1]:7000').address).to.deep.equal({ host: '::1', port: 7000 });
    expect(parse('redis://::1:7000').address).to.deep.equal({ host: '::1', port: 7000 });
    expect(parse('redis://:pw@fe80::1:7000/2')).to.deep.include({
      address: { host: 'fe80::1', port: 7000 },
      password: 'pw',
      database: 2,
    });
  });

  it('reads user and password, decoded', () => {
    expect(parse('redis://bob:p%40ss%2F%3A@h')).to.include({ username: 'bob', password: 'p@ss/:' });
    expect(parse('redis://:pw@h')).to.include({ username: undefined, password: 'pw' });
  });

  it('takes a lone word before the @ for the password, as redis-cli and Redisson', () => {
    expect(parse('redis://pw@h')).to.include({ username: undefined, password: 'pw' });
    expect(parse('redis://pw:@h')).to.include({ username: undefined, password: 'pw' });
  });

  it('reads the database', () => {
    expect(parse('redis://h/3').database).to.equal(3);
    expect(parse('redis://h:1/0').database).to.equal(0);
    expect(parse('redis://h/').database).to.equal(undefined);
  });

  it('is frozen', () => {
    expect(Object.isFrozen(parseAddress('redis://h', 'address'))).to.equal(true);
    expect(Object.isFrozen(parse('redis://h').address)).to.equal(true);
  });

  const BAD: ReadonlyArray<readonly [value: unknown, message: RegExp]> = [
    [undefined, /^address must be an address like redis:\/\/host:6379, got undefined$/],
    [6379, /got 6379$/],
    ['', /got ''$/],
    ['  ', /must be an address/],
    ['localhost:6379', /^address 'localhost:6379': an address starts with redis:\/\//],
    ['http://h:80', /'http:\/\/h:80': an address starts with/],
    ['redis:/h', /an address starts with/],
    ['redis+uds:///tmp/s', /Unix sockets are not supported/],
    ['unix:///tmp/s', /Unix sockets are not supported/],
    ['redis://', /the host is missing/],
    ['redis://:6379', /not a valid address/],
    ['redis://h:99999', /not a valid address: the port is a number up to 65535/],
    ['redis://h:x', /not a valid address/],
    ['redis://h:0', /port 0/],
    ['redis://h/x', /number of a database/],
    ['redis://h/1/2', /number of a database/],
    ['redis://h/-1', /number of a database/],
    ['redis://h?db=3&family=6', /parameters in an address are not supported \(db, family\)/],
    ['redis://h#x', /parameters in an address/],
    ['redis://:%zz@h', /percent-encoded/],
  ];
  for (const [value, message] of BAD) {
    it(`refuses ${String(value)}`, () => {
      expectConfigError(() => parse(value), message);
    });
  }

  for (const text of [
    'redis://bob:geheim@h:x',
    'redis://geheim@h:0',
    'redis://:gehe/im@h:1',
    'redis://:gehe#im@h:1',
    'redis://:gehe?im@h:1',
    'redis://:geheim%zz@h',
    'http://bob:geheim@h',
    'bob:geheim@h',
    'redis:bob:geheim@h',
    'redis://h?password=geheim',
    'redis://:a@geheim@h:x',
    'redis://bob:geheim',
    'redis://:geheim',
    'redis://h:6379:geheim',
    'redis://bob%3Ageheim%40h:x',
    'redis://h/geheim',
    'redis://h?geheim',
    'redis:geheim',
    'redis//bob:geheim@h',
    'redis:///geheim@/',
    'postgres://bob:geheim/x',
    'redis://bob%3Ageheim%40h:6379',
    'redis://%67eheim',
    'geheim',
    'geheim/1',
    'redis://h?geheim=1',
    'redis://:12?geheim=x&db=geheim@h:1',
  ]) {
    it(`B2: shows no secret of ${text}`, () => {
      const { message } = expectConfigError(() => parse(text), /^address '/);
      expect(message).to.not.match(/geheim|gehe|bob/);
    });
  }

  it('B5: takes URL objects', () => {
    expect(parse(new URL('redis://bob:p%40ss@h:7000/2'))).to.deep.include({
      address: { host: 'h', port: 7000 },
      username: 'bob',
      password: 'p@ss',
      database: 2,
    });
  });

  it('redactAddress leaves what is no secret', () => {
    expect(redactAddress('redis://h:1/2')).to.equal('redis://h:1/2');
    expect(redactAddress('rediss://a:b@h:1')).to.equal('rediss://***@h:1');
  });
});
