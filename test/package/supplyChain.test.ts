import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { packTarball } from '../../tools/packTarball';
import { sha512Of } from '../../tools/previous';
import { tamper } from '../../tools/rehearsal';
import { type Sbom, sbomOf } from '../../tools/sbom';
import { tarballDifferences } from '../../tools/tarballs';

/** What the build and the tarball are made of. */
const SOURCES = [
  ...['lib', 'tools', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', '.npmrc'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'NOTICE'],
];

describe('what is published', function () {
  this.timeout(300_000);
  let tarball: string;
  let folder: string;

  before(() => {
    ensureBuilt();
    tarball = packTarball();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-twice-'));
  });

  after(() => {
    if (tarball !== undefined) fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  });

  it('packed again, from another folder, is the same byte by byte', () => {
    const checkout = path.join(folder, 'another', 'place');
    fs.mkdirSync(checkout, { recursive: true });
    for (const source of SOURCES)
      fs.cpSync(path.join(projectRoot, source), path.join(checkout, source), { recursive: true });
    // No link: the build must find the packages within the folder. Links to the files themselves are copied faster.
    try {
      execFileSync('cp', ['-al', path.join(projectRoot, 'node_modules'), checkout], { stdio: 'ignore' });
    } catch {
      fs.cpSync(path.join(projectRoot, 'node_modules'), path.join(checkout, 'node_modules'), {
        recursive: true,
        force: true,
      });
    }
    const env = { ...process.env, IOREDISSON_TEST_TRANSPILED: '' };
    // The record of the last build is a link, too: writing to it would change that of the checkout.
    fs.rmSync(path.join(checkout, 'node_modules', '.cache'), { recursive: true, force: true });
    execFileSync(process.execPath, ['--require', './tools/register.cjs', 'tools/buildCommand.ts'], {
      cwd: checkout,
      env,
    });
    const again = packTarball(checkout);
    try {
      expect(tarballDifferences(tarball, again)).to.deep.equal([]);
      expect(sha512Of(fs.readFileSync(again))).to.equal(sha512Of(fs.readFileSync(tarball)));
    } finally {
      fs.rmSync(path.dirname(again), { recursive: true });
    }
  });

  it('a tampered tarball is found out, with the file in which it differs', () => {
    const copy = path.join(folder, 'copy.tgz');
    fs.copyFileSync(tarball, copy);
    expect(tarballDifferences(tarball, copy)).to.deep.equal([]);
    tamper(copy);
    expect(tarballDifferences(tarball, copy))
      .to.have.lengthOf(1)
      .and.to.match(/^package\/.*: other bytes$/);
    expect(() => sbomOf(copy)).not.to.throw();
    expect(sbomOf(copy).metadata.component.hashes).not.to.deep.equal(sbomOf(tarball).metadata.component.hashes);
  });

  describe('the list of its parts (SBOM, CycloneDX)', () => {
    let sbom: Sbom;

    before(() => (sbom = sbomOf(tarball)));

    it('has exactly p-defer as a package that npm installs with it, beside the peer ioredis', () => {
      expect(sbom.bomFormat).to.equal('CycloneDX');
      expect(sbom.components.map(({ name }) => name)).to.deep.equal(['p-defer']);
      const { component } = sbom.metadata;
      expect(component.name).to.equal('ioredisson');
      const own = sbom.dependencies.find(({ ref }) => ref === component['bom-ref']);
      expect(own?.dependsOn).to.deep.equal(sbom.components.map((one) => one['bom-ref']));
      const peers = component.properties?.filter(({ name }) => name.startsWith('ioredisson:peer:'));
      expect(peers).to.deep.equal([{ name: 'ioredisson:peer:ioredis', value: '^5.6.0 || ^6.0.0' }]);
    });

    it('each of them has a licence, and the hash that the lock file names', () => {
      const { packages } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package-lock.json'), 'utf8')) as {
        readonly packages: Readonly<Record<string, { readonly integrity: string }>>;
      };
      for (const { name, hashes, licenses } of sbom.components) {
        const [hash] = hashes ?? [];
        const integrity = `sha512-${Buffer.from(hash!.content, 'hex').toString('base64')}`;
        expect(integrity).to.equal(packages[`node_modules/${name}`]!.integrity);
        expect(licenses).to.have.lengthOf(1);
      }
    });

    it('has the hash of the tarball, and the packages whose code is in its bundles', () => {
      const { hashes, components = [] } = sbom.metadata.component;
      expect(hashes).to.deep.equal([{ alg: 'SHA-512', content: sha512Of(fs.readFileSync(tarball)) }]);
      expect(components.map(({ name }) => name)).to.include.members(['commander', 'preact', 'yaml']);
    });

    it('is the same text for the same tarball', () => {
      expect(sbomOf(tarball)).to.deep.equal(sbom);
      expect(sbom.serialNumber).to.match(
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
    });
  });
});
