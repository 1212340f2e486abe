import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { MUTATIONS } from '../simulation/mutations/list';
import { skip } from '../support';
import { BREAKS, brokenConfig, calledBy, configOf, MODELS, moduleOf } from './support/models';
import { check, SPEC, whyNoTlc } from './support/tlc';

/** What README.md beside the modules says of a model: how many states it has. */
function statesInReadme(model: string): number {
  const readme = fs.readFileSync(path.join(SPEC, 'README.md'), 'utf8');
  const row = new RegExp(String.raw`^\| \`${model}\` .*\|\s*([\d ]+)\s*\|$`, 'm').exec(readme);
  return Number((row?.[1] ?? '').replaceAll(' ', ''));
}

describe('the specification, checked by TLC', function () {
  // On a busy machine; each takes a few seconds of one core.
  this.timeout(300_000);
  this.slow(120_000);

  before(async function () {
    const reason = await whyNoTlc();
    if (reason !== undefined) skip(this, reason);
  });

  for (const model of MODELS) {
    it(`${model}: all properties hold in every state, as many as its README says`, async () => {
      const { violated, states, output } = await check(moduleOf(model), configOf(model));
      expect(violated, output).to.equal(undefined);
      expect(states, 'docs/spec/README.md').to.equal(statesInReadme(model));
    });
  }

  for (const { model, violates, way } of BREAKS) {
    it(`${model}, broken (${way}): ${violates} does not hold`, async () => {
      const { violated, steps } = await check(moduleOf(model), brokenConfig(model, way, violates));
      expect(violated).to.equal(calledBy(violates));
      expect(steps).to.be.greaterThan(3);
    });
  }
});

describe('the ways in which the specification is broken', () => {
  it('are all there is in the modules, and ten of them at least are mutations of the simulation', () => {
    const modules = fs.readdirSync(SPEC).filter((file) => file.endsWith('.tla'));
    const text = modules.map((file) => fs.readFileSync(path.join(SPEC, file), 'utf8')).join('\n');
    const ways = new Set([...text.matchAll(/Broken [=#] "([^"]+)"/g)].map(([, way]) => way!));
    expect([...ways].sort()).to.deep.equal(BREAKS.map(({ way }) => way).sort());
    const names = new Set(MUTATIONS.map(({ name }) => name));
    const listed = BREAKS.filter((one) => one.listed);
    for (const { way } of listed) expect(names.has(way), way).to.equal(true);
    expect(listed.length).to.be.at.least(10);
  });
});
