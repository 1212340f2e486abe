import { expect } from 'chai';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { Registry } from 'prom-client';
import { stringify as toYaml } from 'yaml';
import { Redisson } from '../../lib';
import { collectLockMetrics } from '../../lib/integrations/prometheus';
import { projectRoot } from '../../tools/buildOutput';
import { freePort, redisUrl, skip, sleepUntil, trackClient, uniqueName } from '../support';

const rulesFile = path.join(projectRoot, 'docs', 'grafana', 'alerts.yml');

/** Whether a program is on the PATH. */
function has(program: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function need(context: Mocha.Context, program: string): void {
  if (!has(program)) skip(context, `there is no ${program} on the PATH (Debian: apt-get install prometheus)`);
}

describe('docs/grafana/alerts.yml, by promtool', () => {
  it('is what Prometheus loads', function () {
    need(this, 'promtool');
    execFileSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' });
  });

  it('D6: fires where it should, and nowhere else: alerts.test.yml', function () {
    need(this, 'promtool');
    execFileSync('promtool', ['test', 'rules', path.join(__dirname, 'alerts.test.yml')], { encoding: 'utf8' });
  });
});

describe('docs/grafana/alerts.yml, in a live Prometheus', function () {
  this.timeout(60_000);
  let folder: string;
  let prometheus: ChildProcess | undefined;
  let metrics: Server | undefined;
  let api: string;

  beforeEach(async function () {
    need(this, 'prometheus');
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-prometheus-'));
    const register = new Registry();
    trackClient({ close: collectLockMetrics({ register, nameOf: (name) => name.split(':')[0] }) });
    metrics = createServer((_req, res) => void register.metrics().then((text) => res.end(text)));
    await new Promise<void>((resolve) => metrics!.listen(0, '127.0.0.1', resolve));
    // The rules as they are, with a bound and pauses that a test can wait for.
    const quick = fs
      .readFileSync(rulesFile, 'utf8')
      .replace('oldest_wait_seconds) > 30', 'oldest_wait_seconds) > 1')
      .replaceAll(/for: \d+m/g, 'for: 1s');
    expect(quick).to.contain('oldest_wait_seconds) > 1');
    fs.writeFileSync(path.join(folder, 'rules.yml'), quick);
    const target = `127.0.0.1:${(metrics.address() as AddressInfo).port}`;
    const config = {
      global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'shop', static_configs: [{ targets: [target] }] }],
    };
    fs.writeFileSync(path.join(folder, 'prometheus.yml'), toYaml(config));
    const address = `127.0.0.1:${await freePort()}`;
    api = `http://${address}/api/v1`;
    const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
    prometheus = spawn('prometheus', [...args, `--web.listen-address=${address}`], { stdio: 'ignore' });
    await sleepUntil(async () => (await query('up')).some(({ value }) => value === '1'), { timeout: 30_000 });
  });

  afterEach(async () => {
    const ended = prometheus;
    prometheus = undefined;
    if (ended?.exitCode === null) {
      const gone = new Promise((resolve) => ended.once('exit', resolve));
      ended.kill('SIGKILL');
      await gone;
    }
    metrics?.closeAllConnections();
    metrics?.close();
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  });

  async function ask(what: string): Promise<unknown> {
    try {
      return ((await (await fetch(`${api}/${what}`)).json()) as { data: unknown }).data;
    } catch {
      // Not up yet.
      return undefined;
    }
  }

  async function query(expr: string): Promise<{ labels: Record<string, string>; value: string }[]> {
    const data = (await ask(`query?query=${encodeURIComponent(expr)}`)) as
      { result: { metric: Record<string, string>; value: [number, string] }[] } | undefined;
    return (data?.result ?? []).map(({ metric, value }) => ({ labels: metric, value: value[1] }));
  }

  async function firing(): Promise<Record<string, string>[]> {
    const { alerts } = (await ask('alerts')) as { alerts: { state: string; labels: Record<string, string> }[] };
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
  }

  it('D6: 40 callers that take their turns fire nothing; 40 that hang do, while they hang', async () => {
    const [busy, other] = [0, 1].map(() => trackClient(Redisson.create(redisUrl())));
    const name = uniqueName('hang:order');
    const controller = new AbortController();
    let turns = 0;
    const callers = Array.from({ length: 40 }, async (_, i) => {
      while (!controller.signal.aborted) {
        await busy!.getLock(`${name}:${i % 8}`).withLock(async () => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          turns++;
        });
      }
    });
    // Prometheus has seen some hundred turns: as quiet as it may get with callers that wait.
    await sleepUntil(async () => {
      expect(await firing()).to.deep.equal([]);
      const [seen] = await query('sum(ioredisson_lock_acquisitions_total{outcome="acquired"})');
      const scrapes = await query('count_over_time(ioredisson_lock_oldest_wait_seconds[1m])');
      return Number(seen?.value ?? 0) > 300 && Number(scrapes[0]?.value ?? 0) > 10;
    });
    controller.abort();
    await Promise.all(callers);
    expect(turns).to.be.greaterThan(300);

    const hold = await other!.getLock(name).acquire();
    const waits = new AbortController();
    const waiting = Array.from({ length: 40 }, () =>
      busy!
        .getLock(name)
        .acquire({ signal: waits.signal })
        .catch(() => undefined),
    );
    const expected = { alertname: 'IoredissonWaitTooLong', severity: 'critical', job: 'shop', kind: 'lock' };
    await sleepUntil(async () => (await firing()).length > 0);
    expect(await firing()).to.deep.equal([{ ...expected, name: 'hang' }]);
    // The histogram still knows only waits that have ended.
    expect(await query('ALERTS{alertname="IoredissonLongWaits"}')).to.deep.equal([]);
    waits.abort();
    await Promise.all(waiting);
    await hold.unlock();
    await sleepUntil(async () => (await firing()).length === 0);
  });
});
