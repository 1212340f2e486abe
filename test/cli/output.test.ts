// Ids in titles: test/README.md
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectReport } from '../../lib/operators/inspection';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, COMMAND, TIMEOUT_MS } from './support/CliProcess';
import { observer, scratchFolder } from './support/world';
import { needFullDisk } from './support/needs';

const OWNER = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:42';
/** Some 900 KB as JSON: much more than a pipe takes at once. */
const MANY = 2_000;
const NODE = `'${process.execPath}' '${COMMAND}'`;

describe('output of the command line', function () {
  this.timeout(2 * TIMEOUT_MS);

  let server: RedisServer;

  before(async () => {
    ensureBuilt();
    server = await RedisServer.start();
    const redis = observer(server.url);
    const pipeline = redis.pipeline();
    for (let i = 0; i < MANY; i++) pipeline.hset(`lock:${i}`, OWNER, 1);
    await pipeline.exec();
    redis.disconnect();
  });
  after(() => server.stop());

  /** A shell line with our command in it. */
  function shell(line: string): Promise<{ code: number; stdout: string; stderr: string }> {
    return CliProcess.startWith('bash', ['-c', line], { env: { REDIS_URL: server.url } }).ended;
  }

  it('B4: --json is complete through a pipe whose reader is slow', async () => {
    const child = spawn(process.execPath, [COMMAND, 'list', '--json'], {
      env: { ...process.env, REDIS_URL: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    trackClient({ stop: () => void child.kill('SIGKILL') });
    let text = '';
    child.stdout.setEncoding('utf8');
    for await (const part of child.stdout) {
      text += part as string;
      // Slower than the pipe fills.
      await sleep(2);
    }
    expect(JSON.parse(text) as ObjectReport[]).to.have.lengthOf(MANY);
    expect(child.exitCode ?? 0).to.equal(0);
  });

  it('B4: the table and the help are complete through a pipe, too', async () => {
    const table = await shell(`${NODE} list | { sleep 0.5; wc -l; }`);
    expect(Number(table.stdout)).to.equal(MANY + 1);
    const help = await shell(`${NODE} run --help | { sleep 0.5; tail -n 2; }`);
    expect(help.stdout).to.contain('ioredisson run -c redisson.yaml');
  });

  for (const args of ['list', 'list --json', 'top -i 10ms', '--help', 'inspect --json lock:1']) {
    it(`B4: a reader that goes away ends ${args}, quietly, as SIGPIPE would`, async () => {
      const { stdout, stderr } = await shell(`{ ${NODE} ${args}; echo "code $?" >&2; } | true`);
      expect({ stdout, stderr }).to.deep.equal({ stdout: '', stderr: 'code 141\n' });
    });
  }

  it('B4: top | head ends', async () => {
    const { stdout, stderr } = await shell(`${NODE} top -i 10ms | head -n 1; echo "\${PIPESTATUS[0]}" >&2`);
    expect(stdout).to.match(/^ioredisson top [^\n]+\n$/);
    expect(stderr).to.equal('141\n');
  });

  for (const args of ['list', 'list --json', 'top --count 1', '--help', '--version', 'inspect lock:1']) {
    it(`B4: a full disk is an error of ${args}`, async function () {
      needFullDisk(this);
      const { stderr, stdout } = await shell(`${NODE} ${args} > /dev/full; echo "code $?"`);
      expect(stdout).to.equal('code 74\n');
      expect(stderr).to.match(/^ioredisson: the output cannot be written: [^\n]*no space left on device[^\n]*\n$/);
    });
  }

  it('B4: a full disk is an error of unlock, which says so', async function () {
    needFullDisk(this);
    await observer(server.url).hset('to be unlocked', OWNER, 1);
    const { stderr, stdout } = await shell(`${NODE} unlock --force 'to be unlocked' > /dev/full; echo "code $?"`);
    expect(stdout).to.equal('code 74\n');
    expect(stderr).to.match(/^ioredisson: the output cannot be written: [^\n]+\n$/);
  });

  it('B4: nobody who reads stderr changes no exit code, and a full pipe loses no message', async () => {
    const name = uniqueName();
    const gone = await shell(`{ { ${NODE} run -l 300ms ${name} -- sleep 60 2>&1; echo "code $?" >&3; } | true; } 3>&1`);
    expect(gone.stdout).to.contain('code 75');
    // The command fills the pipe of stderr, our message stands behind that.
    const filler = 'head -c 65536 /dev/zero >&2; sleep 60';
    const slow = await shell(`${NODE} run -l 1s ${name} -- sh -c '${filler}' 2>&1 | { sleep 3; tr -d '\\0'; }`);
    expect(slow.stdout).to.match(/^ioredisson: the lock '.*' was lost while the command ran: /);
  });

  it('B4: the command gets a pipe that blocks, as it would without us', async () => {
    const file = path.join(scratchFolder(), 'all');
    const { code } = await shell(
      `${NODE} run ${uniqueName()} -- head -c 5000000 /dev/zero | { sleep 1; cat > ${file}; }`,
    );
    expect(code).to.equal(0);
    expect(fs.statSync(file).size).to.equal(5_000_000);
  });

  it('B4: a signal ends top also while nobody reads what it prints', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-cli-'));
    trackClient({ stop: () => fs.rmSync(folder, { recursive: true, force: true }) });
    const child = spawn(process.execPath, [COMMAND, 'top', '-i', '1ms'], {
      env: { ...process.env, REDIS_URL: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    trackClient({ stop: () => void child.kill('SIGKILL') });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    // Nobody reads on: it is stuck in its output when the pipe is full.
    await sleepUntil(() => child.stdout.readableLength > 0, { timeout: TIMEOUT_MS });
    child.stdout.pause();
    await sleep(1_000);
    child.kill('SIGTERM');
    expect(await ended).to.equal(143);
  });

  it('B8: the table of many locks is as that of few', async () => {
    await observer(server.url).hset('日本', OWNER, 1);
    const all = (await cli(['list'], { env: { REDIS_URL: server.url } })).stdout.split('\n');
    const few = (await cli(['list', 'lock:100?'], { env: { REDIS_URL: server.url } })).stdout.split('\n');
    expect(few).to.have.lengthOf(12);
    expect(all.filter((line) => few.includes(line))).to.deep.equal(few);
  });

  it('B8: 10 000 locks are listed within a few seconds, 20 000 in about twice the time', async () => {
    const big = trackClient(await RedisServer.start());
    const redis = observer(big.url);
    const cpu = async (count: number, from: number): Promise<number> => {
      const pipeline = redis.pipeline();
      for (let i = from; i < count; i++) pipeline.hset(`lock:${i}`, OWNER, 1);
      await pipeline.exec();
      // What it costs, not how long it takes: other things run here, too.
      const line = `TIMEFORMAT=%U; time ${NODE} list | wc -l`;
      const end = await CliProcess.startWith('bash', ['-c', line], { env: { REDIS_URL: big.url } }).ended;
      expect(Number(end.stdout)).to.equal(count + 1);
      return Number(end.stderr);
    };
    const [ten, twenty] = [await cpu(10_000, 0), await cpu(20_000, 10_000)];
    expect(ten).to.be.lessThan(4);
    expect(twenty).to.be.lessThan(3 * ten);
  });
});
