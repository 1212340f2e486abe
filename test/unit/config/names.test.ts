import { expect } from 'chai';
import { inspect } from 'node:util';
import { mapName, PrefixNameMapper, Secret, validateName } from '../../../lib/config';
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

describe('mapName', () => {
  const mapper = (result: unknown) => ({ map: () => result as string, unmap: (name: string) => name });

  it('is what the mapper says', () => {
    expect(mapName('a', mapper('b'))).to.equal('b');
  });

  for (const bad of ['', undefined, null, 5, Promise.resolve('b')]) {
    it(`refuses ${inspect(bad)}`, () => {
      expectConfigError(
        () => mapName('a', mapper(bad), 'latch'),
        /^The nameMapper must give .* for the latch 'a', but gave/,
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
