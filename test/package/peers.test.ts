// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt } from '../../tools/buildOutput';
import { packTarball } from '../../tools/packTarball';
import { ConsumerProject } from '../support/ConsumerProject';
import { optionalPeers, readPackage } from './support/installed';

/** Versions that no subpath supports. */
const OLD = [
  ...['fastify@4', 'fastify-plugin@4', 'prom-client@14', '@nestjs/common@9', '@nestjs/core@9', 'reflect-metadata@0.1'],
  ...['@opentelemetry/api@1.8', '@opentelemetry/instrumentation@0.57', 'rxjs@7'],
];

/** What a subpath says of them. */
const NEEDS: Readonly<Record<string, RegExp>> = {
  fastify: /^ioredisson\/fastify needs fastify 5\.0 or later, but found 4\.\d+\.\d+\. Install .*npm i fastify@latest/,
  prometheus: /^ioredisson\/prometheus needs prom-client 15\.0 or later, but found 14\./,
  nestjs: /^ioredisson\/nestjs needs @nestjs\/common 10\.0 or later, but found 9\./,
  otel: /^ioredisson\/otel needs @opentelemetry\/api 1\.9 or later, but found 1\.8\./,
};

describe('beside older packages of frameworks', function () {
  this.timeout(240_000);
  let tarball: string;
  let project: ConsumerProject;

  before(() => {
    ensureBuilt();
    tarball = packTarball();
    project = new ConsumerProject([]);
  });

  after(() => {
    project?.remove();
    if (tarball !== undefined) fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
  });

  it('D11: npm installs it', async () => {
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error'];
    const { code, output } = await project.run('npm', ['install', ...quiet, tarball, 'ioredis', ...OLD], {}, 180_000);
    expect(code, output).to.equal(0);
  });

  it('D11: whatever is no more than an optional peer may have any version', () => {
    const { peerDependencies } = readPackage(path.join(project.folder, 'node_modules', 'ioredisson'));
    for (const name of optionalPeers()) expect(peerDependencies[name], name).to.equal('*');
  });

  it('D11: the package works', async () => {
    const program = `const { createTestRedisson } = require('ioredisson/testing'); require('ioredisson');
      createTestRedisson().getLock('a').withLock(() => console.log('inside'))`;
    expect(await project.run(process.execPath, ['-e', program])).to.deep.equal({ code: 0, output: 'inside\n' });
  });

  for (const [subpath, text] of Object.entries(NEEDS)) {
    it(`D11: ioredisson/${subpath} says at load what it needs`, async () => {
      const report = '({ code, message }) => console.log(JSON.stringify({ code, message }))';
      for (const program of [
        `try { require('ioredisson/${subpath}') } catch (error) { (${report})(error) }`,
        `import('ioredisson/${subpath}').catch(${report})`,
      ]) {
        const { output } = await project.run(process.execPath, ['-e', program]);
        const said = JSON.parse(output) as { code: string; message: string };
        expect(said.code).to.equal('CONFIG');
        expect(said.message).to.match(text);
      }
    });
  }

  it('D11: an instrumentation of OpenTelemetry that is too old is named, too', async () => {
    const api = path.join(project.folder, 'node_modules', '@opentelemetry', 'api', 'package.json');
    fs.writeFileSync(api, fs.readFileSync(api, 'utf8').replace(/"version": "[^"]+"/, '"version": "1.9.0"'));
    const program = "try { require('ioredisson/otel') } catch (error) { console.log(error.message) }";
    const { output } = await project.run(process.execPath, ['-e', program]);
    expect(output).to.match(/needs @opentelemetry\/instrumentation 0\.200 or later, but found 0\.57\./);
  });

  it('a package that is not installed is named, with what to install', async () => {
    const modules = path.join(project.folder, 'node_modules');
    const fastify = path.join(modules, 'fastify', 'package.json');
    fs.writeFileSync(fastify, fs.readFileSync(fastify, 'utf8').replace(/"version": "[^"]+"/, '"version": "5.0.0"'));
    fs.rmSync(path.join(modules, 'fastify-plugin'), { recursive: true });
    const program = "try { require('ioredisson/fastify') } catch ({ code, message }) { console.log(code, message) }";
    const { output } = await project.run(process.execPath, ['-e', program]);
    expect(output).to.match(
      /^CONFIG ioredisson\/fastify needs fastify-plugin, which is not installed: npm i fastify-plugin/,
    );
  });
});
