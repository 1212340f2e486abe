import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { packTarball } from '../../tools/packTarball';
import { type Candidate, LocalRegistry, rehearse } from '../../tools/rehearsal';
import { RedisServer, skip } from '../support';

describe('a rehearsal of the release', function () {
  this.timeout(300_000);
  let registry: LocalRegistry | undefined;
  let server: RedisServer;
  let tarball: string;

  before(async function () {
    registry = await LocalRegistry.start();
    if (registry === undefined) skip(this, 'verdaccio cannot be installed');
    server = await RedisServer.start();
    ensureBuilt();
    tarball = packTarball();
  });

  after(async () => {
    registry?.stop();
    await server?.stop();
    if (tarball !== undefined) fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
  });

  it('publishes to a local registry, installs from there into an empty project, and takes a lock (ESM and CJS)', async () => {
    const { name, version } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as Candidate;
    expect(await rehearse(registry!, { tarball, name, version }, server.url)).to.deep.equal([]);
  });

  it('says what went wrong', async () => {
    const nobody = path.join(path.dirname(tarball), 'missing.tgz');
    const [problem, ...more] = await rehearse(registry!, { tarball: nobody, name: 'x', version: '1.0.0' }, server.url);
    expect(problem).to.match(/^publish \(exit code [1-9]/);
    expect(more).to.deep.equal([]);
  });
});
