import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redis } from 'ioredis';
import { ensureBuilt, projectRoot } from '../tools/buildOutput';
import { RedisServer } from '../tools/redisServer';
import { curves } from './growth/curves';
import { curveTable, grownTooMuch, growthMarkdown, growthPage } from './growth/growthReport';
import { runGrowth } from './growth/runGrowth';
import { compileWorkers, copyBuiltPackage } from './harness/compileWorkers';
import { type Contestant } from './harness/contestant';
import { installPeers } from './harness/installPeers';
import { startDistance } from './distance/startDistance';
import { runScenario, type ScenarioReport } from './harness/runScenario';
import { type BenchOptions, readOptions } from './options';
import { scenarioTable, verdictTable } from './report/consoleTable';
import { htmlReport } from './report/htmlReport';
import { markdownReport } from './report/markdownReport';
import { type RunReport, runReport } from './report/runReport';
import { judgeTargets } from './targets';

const resultsFolder = path.join(__dirname, 'results');

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The built package, the workers, and the other libraries; resolves to the contestants that can run. */
function prepare(options: BenchOptions): readonly Contestant[] {
  compileWorkers();
  if (options.contestants.some(({ kind }) => kind === 'library')) {
    if (options.build === undefined) ensureBuilt();
    copyBuiltPackage(options.build ?? path.join(projectRoot, 'dist'), 'package');
    if (options.beside !== undefined) copyBuiltPackage(options.beside, 'beside');
  }
  const peersThere = installPeers(say);
  return options.contestants.filter(({ kind }) => kind !== 'peer' || peersThere);
}

async function serverVersion(url: string): Promise<string> {
  const redis = new Redis(url);
  const info = await redis.info('server');
  await redis.quit();
  return /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown';
}

async function measure(options: BenchOptions, contestants: readonly Contestant[], url: string): Promise<RunReport> {
  const startedAt = new Date();
  const reports: ScenarioReport[] = [];
  for (const scenario of options.scenarios) {
    const report = await runScenario(scenario, contestants, options.plan, url, say);
    reports.push(report);
    console.log(`\n${scenarioTable(report)}`);
  }
  const verdicts =
    contestants.some(({ id }) => id === 'ioredisson') && options.plan.distanceMs === 0 ? judgeTargets(reports) : [];
  return runReport(startedAt, options.plan, await serverVersion(url), reports, verdicts);
}

function writeFiles(report: RunReport): void {
  fs.mkdirSync(resultsFolder, { recursive: true });
  const name = report.startedAt.replace(/[:.]/g, '-');
  for (const base of [name, 'latest']) {
    fs.writeFileSync(path.join(resultsFolder, `${base}.json`), `${JSON.stringify(report, undefined, 1)}\n`);
    fs.writeFileSync(path.join(resultsFolder, `${base}.html`), htmlReport(report));
    fs.writeFileSync(path.join(resultsFolder, `${base}.md`), markdownReport(report));
  }
  say(`\nbench/results/latest.html, latest.json and latest.md (also as ${name})`);
}

/** `--only growth`. */
async function measureGrowth(options: BenchOptions, url: string): Promise<void> {
  const startedAt = new Date();
  const reports = await runGrowth(curves, url, options.plan.name === 'tiny', say);
  for (const report of reports) console.log(`\n${curveTable(report)}`);
  const { machine } = runReport(startedAt, options.plan, await serverVersion(url), [], []);
  const growth = { startedAt: startedAt.toISOString(), machine, curves: reports };
  fs.mkdirSync(resultsFolder, { recursive: true });
  fs.writeFileSync(path.join(resultsFolder, 'growth.json'), `${JSON.stringify(growth, undefined, 1)}\n`);
  fs.writeFileSync(path.join(resultsFolder, 'growth.html'), growthPage(growth));
  fs.writeFileSync(path.join(resultsFolder, 'growth.md'), growthMarkdown(growth));
  say('\nbench/results/growth.html, growth.json and growth.md');
  const wrong = grownTooMuch(reports);
  for (const line of wrong) say(line);
  if (options.assert && wrong.length > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const contestants = prepare(options);
  const server = options.url === undefined ? await RedisServer.start() : undefined;
  const url = options.url ?? server?.url ?? '';
  const { distanceMs } = options.plan;
  const distant = distanceMs > 0 ? await startDistance(url, distanceMs) : undefined;
  try {
    if (options.growth) return await measureGrowth(options, distant?.url ?? url);
    const report = await measure(options, contestants, distant?.url ?? url);
    if (report.targets.length > 0) console.log(`\n${verdictTable(report.targets)}`);
    writeFiles(report);
    if (options.assert && report.targets.some(({ passed }) => !passed)) process.exitCode = 1;
  } finally {
    distant?.stop();
    await server?.stop();
  }
}

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
