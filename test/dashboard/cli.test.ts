import { expect } from 'chai';
import { Redisson } from '../../lib';
import { redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, TIMEOUT_MS } from '../cli/support/CliProcess';
import { ask, changeHeaders } from './support/world';

describe('ioredisson dashboard', function () {
  this.timeout(2 * TIMEOUT_MS);

  before(() => ensureBuilt());

  async function start(...args: string[]): Promise<[CliProcess, string]> {
    const command = CliProcess.start(['dashboard', '--port', '0', ...args]);
    const [, base] = await command.prints(/^(http:\/\/\S+)\/\n/);
    return [command, base!];
  }

  it('serves the page on this machine only, read-only, until a signal ends it', async () => {
    const [command, base] = await start();
    expect(base).to.match(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await ask(`${base}/`)).text)
      .to.contain('<!doctype html>')
      .and.not.to.contain('not built');
    expect(JSON.parse((await ask(`${base}/api/session`)).text)).to.include({ readOnly: true });
    command.signal('SIGINT');
    expect(await command.ended).to.include({ code: 0, stderr: '' });
    const [second] = await start();
    second.signal('SIGTERM');
    expect((await second.ended).code).to.equal(143);
  });

  it('--allow-unlock: releases a lock, and says so in one line', async () => {
    const [command, base] = await start('--allow-unlock');
    const name = `${uniqueName()}\nforged: line`;
    const lock = trackClient(Redisson.create(redisUrl())).getLock(name);
    await lock.lock();
    const body = JSON.stringify({ name, confirm: name, holders: null });
    const { text } = await ask(`${base}/api/unlock`, { method: 'POST', headers: await changeHeaders(base), body });
    expect(JSON.parse(text)).to.include({ released: true });
    await sleepUntil(() => command.stderr.endsWith('\n'), { timeout: TIMEOUT_MS });
    expect(command.stderr).to.match(
      /^ioredisson: unlock '[^\n]* forged: line' \(lock\) from 127\.0\.0\.1: released; holders: \S+\n$/,
    );
    command.signal('SIGINT');
    expect((await command.ended).code).to.equal(0);
  });

  it('refuses names that another site could use (DNS rebinding)', async () => {
    const [command, base] = await start('--allow-unlock');
    for (const host of ['evil.example', 'evil.example:7380', 'localhost.evil.example']) {
      const { status, text } = await ask(`${base}/api/locks`, { headers: { host } });
      expect([host, status]).to.deep.equal([host, 403]);
      expect(text).not.to.contain('rows');
    }
    for (const host of ['localhost', 'localhost:7380', '127.0.0.1:1', '[::1]:7380', '10.0.0.1']) {
      expect((await ask(`${base}/api/session`, { headers: { host } })).status, host).to.equal(200);
    }
    command.signal('SIGINT');
    await command.ended;
  });

  it('says what is wrong with the port', async () => {
    const [command, base] = await start();
    const { port } = new URL(base);
    const taken = await cli(['dashboard', '--port', port]);
    expect(taken).to.include({ code: 64, stdout: '' });
    expect(taken.stderr).to.match(/^ioredisson: cannot serve on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/);
    for (const wrong of ['x', '-1', '65536', '']) expect((await cli(['dashboard', '--port', wrong])).code).to.equal(64);
    command.signal('SIGINT');
    await command.ended;
  });
});
