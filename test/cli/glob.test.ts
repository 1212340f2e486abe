// Ids in titles: test/README.md
import { expect } from 'chai';
import { globTest, scanFilter } from '../../lib/util/glob';
import { RedisServer, trackClient } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, TIMEOUT_MS } from './support/CliProcess';
import { observer } from './support/world';

const OWNER = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:42';
const ODD = [
  '[z-a]',
  '[a',
  '[',
  '[]',
  '[^]',
  '[^a',
  '[a-',
  '[a-]',
  '[\\]]',
  'a\\',
  '\\',
  '',
  '**',
  '?',
  '??',
  '[^z-a]*',
];

describe('B13: globs are those of Redis', function () {
  this.timeout(2 * TIMEOUT_MS);

  it('each pattern matches what KEYS matches, and SCAN finds what surrounds a match', async () => {
    const server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    const random = generator(1);
    const word = (alphabet: string, max: number): string =>
      Array.from({ length: random(max + 1) }, () => [...alphabet][random([...alphabet].length)]).join('');
    const names = new Set(ODD);
    // No object has an empty name.
    names.delete('');
    while (names.size < 150) names.add(word('abcz]^-\\[*?é', 4) || 'a');
    await redis.mset(...[...names].flatMap((name) => [name, '1', `part:{${name}}`, '1']));
    const patterns = [...ODD, ...Array.from({ length: 2_000 }, () => word('abcz]^-\\[[**??é', 6))];
    const found = await Promise.all(patterns.map((pattern) => redis.keys(pattern)));
    for (const [i, pattern] of patterns.entries()) {
      const matches = globTest(pattern);
      const wanted = found[i]!.filter((key) => names.has(key)).sort();
      expect([...names].filter(matches).sort(), pattern).to.deep.equal(wanted);
    }
    for (const pattern of patterns.slice(0, 300)) {
      const filter = scanFilter(pattern);
      if (filter === undefined) continue;
      const near = globTest(filter);
      for (const name of [...names].filter(globTest(pattern))) expect(near(`part:{${name}}`), pattern).to.equal(true);
    }
  });

  it('stars cost no more than the text is long, squared', () => {
    expect(globTest('*a'.repeat(40) + 'b')('a'.repeat(5_000))).to.equal(false);
  });

  it('a pattern may have thousands of stars and classes', () => {
    for (const glob of ['*a'.repeat(20_000), '*[a-z]?'.repeat(10_000), `${'*'.repeat(20_000)}a`]) {
      const matches = globTest(glob);
      expect(matches('a'.repeat(20_000))).to.equal(true);
      expect(matches('a'.repeat(9_999) + 'b')).to.equal(false);
    }
  });

  it('list takes them', async () => {
    ensureBuilt();
    const server = trackClient(await RedisServer.start());
    const redis = observer(server.url);
    for (const name of ['m', 'a[', '\\']) await redis.hset(name, OWNER, 1);
    for (const [pattern, names] of [
      ['[z-a]', ['m']],
      ['a[[', ['a[']],
      ['\\', ['\\']],
    ] as const) {
      const end = await cli(['list', '--json', pattern], { env: { REDIS_URL: server.url } });
      expect(end.code, pattern).to.equal(0);
      expect((JSON.parse(end.stdout) as { name: string }[]).map(({ name }) => name)).to.deep.equal(names);
    }
  });
});

/** Numbers below a limit, the same in each run. */
function generator(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * limit);
  };
}
