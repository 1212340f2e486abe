import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import type { ConsumerProject } from '../support/ConsumerProject';
import { BENCH_MODULES, installOthers } from './support/benchPackages';
import { filesUnder, ordinaryPackages, PackedPackage } from './support/installed';
import { bundleSize, LIGHTEST, LIMITS, ONE_LOCK, requireCpu } from './support/weight';

describe('the weight of the packed package', function () {
  this.timeout(120_000);
  let packed: PackedPackage;
  let project: ConsumerProject;

  before(() => {
    packed = new PackedPackage();
    project = packed.installedWith(ordinaryPackages());
  });

  after(() => {
    project?.remove();
    packed?.remove();
  });

  it('F11: a bundle of one lock has no YAML library, and stays below its limit', async () => {
    const { gzip, inputs } = await bundleSize(project.write('lock.mjs', ONE_LOCK['ioredisson']!));
    expect(inputs.filter((file) => /yaml|readDocument|builder.Config/.test(file))).to.deep.equal([]);
    expect(gzip).to.be.below(LIMITS.gzip);
  });

  it('F11: what takes everything into a bundle is what docs/bundlers.md says', async () => {
    const everything = {
      required: "const { Redisson } = require('ioredisson'); console.log(Redisson);",
      config: "import { Config, Redisson } from 'ioredisson'; console.log(Redisson.create(Config.fromYAML('a')));",
    };
    for (const [name, text] of Object.entries(everything)) {
      const { gzip, inputs } = await bundleSize(project.write(`${name}.js`, text));
      expect(
        inputs.filter((file) => file.endsWith('dist/yaml/yaml.js')),
        name,
      ).to.have.lengthOf(1);
      expect(gzip, name).to.be.above(LIMITS.gzip);
    }
  });

  it('F11: unpacked it stays below its limit, with one copy of the YAML library in it and none beside it', () => {
    const sizes = filesUnder(packed.folder).map((file) => fs.statSync(path.join(packed.folder, file)).size);
    expect(sizes.reduce((sum, size) => sum + size)).to.be.below(LIMITS.unpacked);
    expect(filesUnder(packed.folder).filter((file) => /(^|\/)yaml\.m?js$/.test(file))).to.deep.equal([
      'dist/yaml/yaml.js',
    ]);
    expect(fs.existsSync(path.join(project.folder, 'node_modules', 'yaml'))).to.equal(false);
  });

  it('F11: `require` takes no more of the CPU than its limit, beside the lightest', function () {
    if (!installOthers()) this.skip();
    project.link(LIGHTEST, path.join(BENCH_MODULES, LIGHTEST));
    const [own, other] = requireCpu(project.folder, ['ioredisson', LIGHTEST], 11);
    expect(own! / other!).to.be.below(LIMITS.ratio);
  });

  it('F11: the limits are those that docs/bundlers.md states', () => {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'bundlers.md'), 'utf8');
    const { gzip, unpacked, ratio } = LIMITS;
    for (const text of [`${gzip / 1000} kB`, `${unpacked / 1e6} MB`, `${ratio} times`]) expect(page).to.include(text);
  });
});
