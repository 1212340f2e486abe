import { expect } from 'chai';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { channel } from 'node:diagnostics_channel';
import * as path from 'node:path';
import { Registry } from 'prom-client';
import { parse as parseYaml } from 'yaml';
import { Redisson } from '../../lib';
import { collectLockMetrics } from '../../lib/integrations/prometheus';
import { redisUrl, skip, trackClient, uniqueName } from '../support';
import { installFolder } from '../../tools/installFolder';
import { projectRoot } from '../../tools/buildOutput';

/** What of a node of a lezer tree is used. */
interface Node {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly type: { readonly isError: boolean };
  readonly node: Node;
  readonly parent: Node | null;
  getChild(name: string): Node | null;
}
interface Parser {
  parse(text: string): { iterate(visit: { enter(node: Node): void }): void };
}

/** A metric as it is scraped. */
interface Scraped {
  readonly type: string;
  /** Label -> its values. */
  readonly labels: Map<string, Set<string>>;
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Labels that Prometheus adds to what it scrapes. */
const ADDED = ['job', 'instance'];
/** What Grafana puts into an expression before Prometheus sees it. */
const FILLED = [[/\$__rate_interval/g, '1m']] as const;

const grafana = path.join(projectRoot, 'docs', 'grafana');
const promql = path.join(__dirname, 'promql');

const dashboard = JSON.parse(fs.readFileSync(path.join(grafana, 'ioredisson.json'), 'utf8')) as {
  panels: { title: string; targets: { refId: string; expr: string }[] }[];
};
const { groups } = parseYaml(fs.readFileSync(path.join(grafana, 'alerts.yml'), 'utf8')) as {
  groups: { rules: Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const expressions = [
  ...rules.map(({ alert, expr }) => ({ title: `the alert ${alert}`, expr })),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ refId, expr }) => ({ title: `the panel "${title}", ${refId}`, expr })),
  ),
];

describe("docs/grafana, read by Prometheus' own grammar", () => {
  let parser: Parser;
  let scraped: Map<string, Scraped>;

  before(async function () {
    this.timeout(120_000);
    if (!installFolder(promql, "Prometheus' grammar", (line) => console.log(line))) {
      skip(this, 'the grammar of PromQL could not be installed (npm ci in test/apm/promql failed)');
    }
    ({ parser } = createRequire(path.join(promql, 'package.json'))('@prometheus-io/lezer-promql') as {
      parser: Parser;
    });
    scraped = await scrape();
  });

  function nodes(expr: string): { node: Node; text: string }[] {
    const filled = FILLED.reduce((text, [variable, value]) => text.replaceAll(variable, value), expr);
    const found: { node: Node; text: string }[] = [];
    parser.parse(filled).iterate({
      enter: ({ node }) => void found.push({ node, text: filled.slice(node.from, node.to) }),
    });
    return found;
  }

  /** What is no PromQL. */
  const errors = (expr: string): string[] => nodes(expr).flatMap(({ node, text }) => (node.type.isError ? [text] : []));
  const named = (expr: string, name: string): string[] =>
    nodes(expr).flatMap(({ node, text }) => (node.name === name ? [text] : []));

  it('the grammar refuses what is no PromQL', () => {
    expect(errors('sum by (job) (rate(x[5m])) > 0')).to.deep.equal([]);
    for (const wrong of ['sum by (job (x)', 'rate(x[5q])', 'rat(x[5m])', 'x{job=y}', 'x >> 1']) {
      expect(errors(wrong), wrong).not.to.have.lengthOf(0);
    }
  });

  for (const { title, expr } of expressions) {
    it(`${title}: is PromQL, on series that are exported, with labels and values that they have`, () => {
      expect(errors(expr)).to.deep.equal([]);
      const metrics = named(expr, 'Identifier');
      expect(metrics).not.to.have.lengthOf(0);
      expect([...scraped.keys()]).to.include.members(metrics);
      for (const metric of metrics) {
        const { labels } = scraped.get(metric)!;
        expect([...labels.keys(), ...ADDED], metric).to.include.members(named(expr, 'LabelName'));
      }
      for (const matcher of named(expr, 'UnquotedLabelMatcher')) {
        const [, label, value] = /^(\w+)="(.*)"$/.exec(matcher) ?? [];
        if (label !== undefined) expect([...scraped.get(metrics[0]!)!.labels.get(label)!]).to.include(value);
      }
    });

    it(`${title}: asks counters for their increase, gauges for what they are, and histograms by le`, () => {
      for (const { node, text } of nodes(expr).filter(({ node: { name } }) => name === 'VectorSelector')) {
        const { type } = scraped.get(/^\w+/.exec(text)![0])!;
        const isRange = node.parent?.name === 'MatrixSelector';
        expect(isRange, text).to.equal(type !== 'gauge');
        if (isRange) expect(node.parent?.parent?.parent?.getChild('FunctionIdentifier'), text).not.to.equal(null);
        if (type === 'histogram' && text.includes('_bucket'))
          expect(named(expr, 'GroupingLabels')[0]).to.match(/\ble\b/);
      }
    });
  }

  for (const { alert, expr, annotations } of rules) {
    it(`the alert ${alert} shows labels that its result has`, () => {
      const shown = Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/\{\{ *\$labels\.(\w+) *\}\}/g)].map(([, label]) => label!),
      );
      for (const label of shown)
        expect(named(expr, 'GroupingLabels').join(), label).to.match(new RegExp(`\\b${label}\\b`));
    });
  }
});

/** What a server of metrics gives to Prometheus when everything that is counted has happened once. */
async function scrape(): Promise<Map<string, Scraped>> {
  const register = new Registry();
  const stop = collectLockMetrics({ register, nameOf: (one) => one.split(':')[0] });
  const [one, other] = [0, 1].map(() => trackClient(Redisson.create(redisUrl())));
  const name = uniqueName('promql');
  const lock = one!.getLock(name);
  await lock.lock();
  const waiting = other!.getLock(name).tryLock(60);
  // The gauges show what is under way when they are read.
  await register.metrics();
  await waiting;
  await other!.getLock(name).tryLock();
  await other!.getLock(name).forceUnlock();
  await lock.unlock().catch(() => undefined);
  const semaphore = one!.getSemaphore(`${name}:number`);
  await one!.getLock(`${name}:number`).withLock(() => semaphore.tryAcquire().catch(() => undefined));
  channel('ioredisson:renewal').publish({ clientId: one!.getId(), locks: 1, ms: 1, error: new Error('down') });
  stop();
  const found = new Map<string, Scraped>();
  const types = new Map<string, string>();
  for (const line of (await register.metrics()).split('\n')) {
    const [, typed, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    if (typed !== undefined) types.set(typed, type!);
    const [, metric, inside = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (metric === undefined) continue;
    const base = types.get(metric) ?? types.get(metric.replace(/_(?:bucket|sum|count)$/, ''))!;
    const { labels } = found.get(metric) ?? { labels: new Map<string, Set<string>>() };
    for (const [, label, value] of inside.matchAll(/(\w+)="([^"]*)"/g)) {
      labels.set(label!, (labels.get(label!) ?? new Set()).add(value!));
    }
    found.set(metric, { type: base, labels });
  }
  return found;
}
