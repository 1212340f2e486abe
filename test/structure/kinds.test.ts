import { expect } from 'chai';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { Redisson } from '../../lib';
import { ALL_KINDS, scriptsOf } from '../../lib/kinds/allKinds';
import type { Kind } from '../../lib/kinds/Kind';
import type { MemberLock } from '../../lib/locks/core/MemberLock';
import { createTestRedisson } from '../../lib/testing';
import { projectRoot } from '../../tools/buildOutput';
import { allScripts } from '../../tools/scripts';
import { EVERY_LOCK } from '../support/kinds';
import { rulesOf } from '../support/securityPage';
import { withRights } from './securityPage';

const load = createRequire(__filename);
const read = (file: string): string => fs.readFileSync(path.join(projectRoot, file), 'utf8');
/** Where the descriptors are. */
const FOLDERS = ['lib/kinds'];

/** The descriptors that the files of those folders export, with their files. */
function descriptors(): { readonly file: string; readonly kind: Kind }[] {
  return FOLDERS.flatMap((folder) =>
    fs.readdirSync(path.join(projectRoot, folder)).flatMap((name) => {
      const file = `${folder}/${name}`;
      const exported = Object.values(load(path.join(projectRoot, file)) as Record<string, unknown>);
      return exported.filter(isKind).map((kind) => ({ file, kind }));
    }),
  );
}

function isKind(value: unknown): value is Kind {
  return typeof value === 'object' && value !== null && 'noun' in value && 'keysOf' in value;
}

describe('the kinds of objects', () => {
  it('are all in the list', () => {
    expect(descriptors()).to.have.lengthOf.at.least(ALL_KINDS.length);
    const missing = descriptors().filter(({ kind }) => !ALL_KINDS.includes(kind));
    const advice = missing.map(
      ({ file, kind }) => `add the '${kind.name}' of ${file} to KINDS in lib/kinds/allKinds.ts`,
    );
    expect(advice).to.deep.equal([]);
  });

  it('have all scripts between them: the rights of a script of no kind would be missing', () => {
    const known = new Set(ALL_KINDS.flatMap((kind) => scriptsOf(kind).map(({ name }) => name)));
    const missing = allScripts().filter(({ name }) => !known.has(name) && !name.startsWith('inspection.'));
    const advice = missing.map(({ name }) => `add the script '${name}' to the scripts of the descriptor that sends it`);
    expect(advice).to.deep.equal([]);
  });

  it('use keys that their descriptors name', () => {
    const advice = ALL_KINDS.flatMap((kind) => {
      const roles = Object.keys(kind.keysOf('x', 'owner'));
      const used = new Set(scriptsOf(kind).flatMap(({ realKeys }) => realKeys));
      const unknown = [...used].filter((role) => !roles.includes(role));
      return unknown.map((role) => `add '${role}' to keysOf of '${kind.name}': its scripts have a key of that name`);
    });
    expect(advice).to.deep.equal([]);
  });

  it('have their rights in docs/security.md (npm run docs:security)', () => {
    const page = read('docs/security.md');
    expect(withRights(page)).to.equal(page);
  });

  // Which of them the inspector reads, a server shows: test/redis/security/rights.test.ts, "inspection".
  it('have the keys that the rights of operators name', () => {
    const prefixes = ALL_KINDS.flatMap((kind) => {
      const keys = Object.entries(kind.keysOf('app:', '')).filter(([role]) => !role.startsWith('channel'));
      return keys.map(([, key]) => `~${key.slice(0, key.indexOf('app:'))}app:*`);
    });
    const places = rulesOf('inspection').filter((rule) => rule.startsWith('~'));
    expect(prefixes, 'the block "inspection" of docs/security.md').to.include.members(places);
  });

  it('run the contract on a server', () => {
    const folder = 'test/redis/locks';
    const texts = fs.readdirSync(path.join(projectRoot, folder)).map((file) => read(`${folder}/${file}`));
    const missing = EVERY_LOCK.filter(({ name }) => !texts.some((text) => text.includes(`underTest('${name}')`)));
    const advice = missing.map(
      ({ name, noun }) => `add lockContract('${noun}', underTest('${name}')) to a test file of ${folder}`,
    );
    expect(advice).to.deep.equal([]);
  });

  it('are what their lockOf gives: a descriptor that begins with another one has the lockOf of that one', async () => {
    const client = createTestRedisson();
    const wrong = ALL_KINDS.filter(({ name, lockOf }) => {
      const lock = lockOf?.(client, 'x');
      return lock !== undefined && (lock as MemberLock).kind !== name;
    });
    await client.shutdown();
    expect(wrong.map(({ name }) => `the lockOf of '${name}' gives a lock of another kind`)).to.deep.equal([]);
  });

  it('are explored: every fault at every position', () => {
    const text = read('test/simulation/explore/scenarios.ts');
    const missing = EVERY_LOCK.filter(({ name }) => !new RegExp(`'${name}'|\\b${name}\\b`).test(text));
    const advice = missing.map(({ name }) => `add a scenario of '${name}' to test/simulation/explore/scenarios.ts`);
    expect(advice).to.deep.equal([]);
  });

  it('are in the list of README.md, by the methods that make them', () => {
    const list = read('README.md').split('## All locks and synchronizers')[1]?.split('\n## ')[0] ?? '';
    const methods = Object.getOwnPropertyNames(Redisson.prototype).filter((name) =>
      /^get.*(Lock|Latch|Semaphore)$/.test(name),
    );
    expect(methods).to.have.lengthOf.at.least(11);
    const missing = methods.filter((name) => !list.includes(name));
    expect(missing.map((name) => `README.md, "All locks and synchronizers", does not have ${name}()`)).to.deep.equal(
      [],
    );
  });

  it('are tried on other runtimes, by the methods that make them', () => {
    const program = read('test/matrix/program.cjs');
    const missing = Object.getOwnPropertyNames(Redisson.prototype).filter(
      (name) => /^get.*Lock$/.test(name) && name !== 'getRedLock' && !program.includes(`.${name}(`),
    );
    expect(missing.map((name) => `KINDS of test/matrix/program.cjs does not have ${name}()`)).to.deep.equal([]);
  });

  it('are in docs/observability.md', () => {
    const page = read('docs/observability.md');
    const missing = ALL_KINDS.filter(({ name }) => !page.includes(`\`${name}\``));
    expect(missing.map(({ name }) => `docs/observability.md does not have the kind \`${name}\``)).to.deep.equal([]);
  });
});
