import { expect } from 'chai';
import { build } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { gzipSync } from 'node:zlib';
import { projectRoot } from '../../tools/buildOutput';
import { RedisServer } from '../../tools/redisServer';
import { codeBlocks } from '../readme/markdown';
import { ConsumerProject } from '../support/ConsumerProject';
import { ordinaryPackages, PackedPackage } from './support/installed';

/** As docs/recipes/serverless.md says, in kB. */
const ABOUT = 145;

describe('the function of docs/recipes/serverless.md', function () {
  this.timeout(120_000);

  it('runs as a bundle in one file, with ioredis in it and nothing beside it', async () => {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'recipes', 'serverless.md'), 'utf8');
    expect(page).to.include(`About ${ABOUT} kB`);
    const handler = codeBlocks(page).find(({ code }) => code.includes('export async function handler'));
    const packed = new PackedPackage();
    const project = packed.installedWith(ordinaryPackages());
    const alone = new ConsumerProject([]);
    const server = await RedisServer.start();
    try {
      // A module that ends with top-level awaits is one of the docs: a handler's file has none.
      const [code, ending] = handler!.code.split('console.log(');
      const called = `${code}\nvoid (async () => { console.log(${ending!.replace(/\/\/.*/, '')} })();`;
      const { outputFiles } = await build({
        entryPoints: [project.write('handler.ts', called)],
        bundle: true,
        platform: 'node',
        target: 'node20',
        minify: true,
        write: false,
      });
      const { text, contents } = outputFiles[0]!;
      expect(gzipSync(contents).length / 1000).to.be.within(ABOUT - 15, ABOUT + 10);
      const run = await alone.run(process.execPath, [alone.write('handler.js', text)], { REDIS_URL: server.url });
      expect(run).to.deep.equal({ code: 0, output: '{ statusCode: 200 }\n' });
    } finally {
      await server.stop();
      alone.remove();
      project.remove();
      packed.remove();
    }
  });
});
