import { expect } from 'chai';
import { writeOwnerName } from '../../../lib/kinds/readWrite';
import { ownerName } from '../../../lib/kinds/reentrant';
import { prefixName, remembered, slotOf, suffixName } from '../../../lib/util/names';

const CLIENT = '3c2e0c5e-6f5b-4f0e-9d3a-0a1b2c3d4e5f';

function sameSlot(...keys: readonly string[]): boolean {
  return new Set(keys.map(slotOf)).size === 1;
}

describe('names on the wire', () => {
  it('wraps a name without brace', () => {
    expect(prefixName('redisson_lock__channel', 'order')).to.equal('redisson_lock__channel:{order}');
    expect(suffixName('order', 'timeout')).to.equal('{order}:timeout');
  });

  it('leaves a name with a brace', () => {
    expect(prefixName('redisson_lock__channel', 'a{b}c')).to.equal('redisson_lock__channel:a{b}c');
    expect(suffixName('a{b}c', 'timeout')).to.equal('a{b}c:timeout');
  });

  it('looks at the opening brace only, like Redisson', () => {
    expect(prefixName('p', 'x{y')).to.equal('p:x{y');
    expect(prefixName('p', 'x}y')).to.equal('p:{x}y}');
  });

  it('keeps what belongs together on one slot of a cluster', () => {
    for (const name of ['order', 'a{b}c', '{a}:{b}', 'näme', '']) {
      expect(sameSlot(`{${name}}`, `{${name}}`)).to.equal(true);
    }
    for (const name of ['order', 'a{b}c', '{a}:{b}', 'näme']) {
      expect(sameSlot(name, prefixName('redisson_lock__channel', name), suffixName(name, 'timeout')), name).to.equal(
        true,
      );
    }
  });

  it('cannot for names with unbalanced or empty braces, like Redisson', () => {
    for (const name of ['x{y', 'x{}y', 'x}y']) expect(sameSlot(name, prefixName('p', name)), name).to.equal(false);
  });

  it('names owners', () => {
    expect(ownerName(CLIENT, 7)).to.equal(`${CLIENT}:7`);
    expect(ownerName(CLIENT, 2 ** 32)).to.equal(`${CLIENT}:4294967296`);
    expect(writeOwnerName(CLIENT, 7)).to.equal(`${CLIENT}:7:write`);
  });
});

describe('slotOf', () => {
  // What `CLUSTER KEYSLOT` of a Redis 7.0 answered.
  const VECTORS: ReadonlyArray<readonly [key: string, slot: number]> = [
    ['', 0],
    ['123456789', 12739],
    ['foo', 12182],
    ['order', 16025],
    ['{order}:timeout', 16025],
    ['foo{bar}baz', 5061],
    ['{}foo', 9500],
    ['a{}b', 13694],
    ['{{a}}', 10276],
    ['}a{b}', 3300],
    ['a{b', 13340],
    ['{a}{b}', 15495],
    ['näme', 7717],
    ['\u{1f512}', 15505],
  ];
  for (const [key, slot] of VECTORS) {
    it(`is ${slot} for '${key}'`, () => {
      expect(slotOf(key)).to.equal(slot);
    });
  }
});

describe('remembered names', () => {
  it('a name is made once, and again when more names than it keeps have come since', () => {
    const made: string[] = [];
    const nameOf = remembered((rawName) => {
      made.push(rawName);
      return `{${rawName}}`;
    });
    expect([nameOf('a'), nameOf('b'), nameOf('a')]).to.deep.equal(['{a}', '{b}', '{a}']);
    expect(made).to.deep.equal(['a', 'b']);
    for (let i = 0; i < 1_000; i++) expect(nameOf(`n${i}`)).to.equal(`{n${i}}`);
    expect(nameOf('a')).to.equal('{a}');
    expect(made.filter((name) => name === 'a')).to.have.length(2);
  });
});
