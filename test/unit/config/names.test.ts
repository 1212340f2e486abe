// Ids in titles: test/README.md
import { expect } from 'chai';
import { inspect } from 'node:util';
import { PrefixNameMapper } from '../../../lib/config/NameMapper';
import { Secret } from '../../../lib/config/Secret';
import { mapName, validateName } from '../../../lib/config/validateName';
import { expectConfigError } from './support';

describe('validateName', () => {
  it('takes any text', () => {
    for (const name of ['a', ' ', 'a{b}c', 'näme', '\u0000']) expect(validateName(name, 'lock')).to.equal(name);
  });

  for (const bad of ['', undefined, null, 5, {}, ['a'], Symbol('a')]) {
    it(`refuses ${inspect(bad)}`, () => {
      expectConfigError(
        () => validateName(bad, 'semaphore'),
        `The name of a semaphore must be a non-empty string, got ${inspect(bad)}`,
      );
    });
  }
});

describe('a name with a lone surrogate (A12)', () => {
  const broken = ['\ud800', 'a\udc00b', '\udc00\ud800', 'a\ud83d'];

  for (const name of broken) {
    it(`is refused, since it cannot be told to Redis: ${inspect(name)}`, () => {
      expectConfigError(() => validateName(name, 'latch'), /latch.*lone surrogate/);
      expectConfigError(() => mapName('a', { map: () => name, unmap: (text) => text }), /well-formed/);
    });
  }

  it('is not one that has pairs', () => {
    expect(validateName('lock \ud83d\ude00', 'lock')).to.equal('lock 😀');
  });
});

describe('mapName', () => {
  const mapper = (result: unknown) => ({ map: () => result as string, unmap: (name: string) => name });

  it('is what the mapper says', () => {
    expect(mapName('a', mapper('b'))).to.equal('b');
  });

  for (const bad of ['', undefined, null, 5, Promise.resolve('b')]) {
    it(`refuses ${inspect(bad)}`, () => {
      expectConfigError(
        () => mapName('a', mapper(bad), 'latch'),
        /^The nameMapper must give .* for the latch 'a', got/,
      );
    });
  }
});

describe('PrefixNameMapper', () => {
  const mapper = new PrefixNameMapper('app:');

  it('puts the prefix in front, and takes it away', () => {
    expect(mapper.map('a')).to.equal('app:a');
    expect(mapper.unmap('app:a')).to.equal('a');
    expect(mapper.unmap('a')).to.equal('a');
  });

  it('leaves a name that has it, like the Java class', () => {
    expect(mapper.map('app:a')).to.equal('app:a');
  });

  for (const bad of ['', undefined, 5]) {
    it(`refuses the prefix ${inspect(bad)}`, () => {
      expectConfigError(() => new PrefixNameMapper(bad as string), /must be a non-empty string/);
    });
  }
});

describe('Secret', () => {
  const secret = new Secret('geheim');

  it('gives its value only when asked', () => {
    expect(secret.reveal()).to.equal('geheim');
    for (const shown of [String(secret), `${inspect(secret)}`, JSON.stringify({ secret }), inspect({ ...secret })]) {
      expect(shown).to.not.contain('geheim');
    }
    expect(inspect({ deep: { secret } }, { showHidden: true })).to.contain('secret: [redacted]');
  });
});
