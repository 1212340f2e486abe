import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { RUNBOOK } from '../../../lib/operators/inspection/advice';
import { collectLockMetrics } from '../../../lib/integrations/prometheus';
import { projectRoot } from '../../../tools/buildOutput';
import { slugify } from '../../../tools/docs/links';

const docs = path.join(projectRoot, 'docs');
const folder = path.join(docs, 'grafana');
const manifest = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
  repository: { url: string };
};
const repository = manifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly datasource: unknown;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly Target[];
}

interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly time: { readonly from: string; readonly to: string };
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { name: string; type: string; query: string | { query: string } }[];
  };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

const SUFFIXES = { histogram: ['_bucket', '_sum', '_count'], counter: [''], gauge: [''] } as const;

/** The series that collectLockMetrics exports, and their labels. */
async function series(): Promise<Map<string, string[]>> {
  const register = new Registry();
  collectLockMetrics({ register, nameOf: (name) => name })();
  const known = new Map<string, string[]>();
  for (const { name, type } of await register.getMetricsAsJSON()) {
    const { labelNames } = register.getSingleMetric(name) as unknown as { labelNames: string[] };
    for (const suffix of SUFFIXES[String(type) as keyof typeof SUFFIXES]) {
      known.set(name + suffix, suffix === '_bucket' ? [...labelNames, 'le'] : [...labelNames]);
    }
  }
  return known;
}

/** Labels that Prometheus adds. */
const ADDED = ['job', 'instance'];

/** Fails unless every series of an expression exists, with the labels that are selected or summed by. */
async function expectKnown(expr: string): Promise<void> {
  const known = await series();
  const used = [...expr.matchAll(/\bioredisson_\w+/g)].map(([name]) => name);
  expect(used, expr).not.to.have.lengthOf(0);
  expect([...known.keys()], expr).to.include.members(used);
  const labels = [...(known.get(used[0]!) ?? []), ...ADDED];
  const selected = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((one) => one.trim()),
  );
  const matched = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) =>
    [...list!.matchAll(/(\w+)=/g)].map(([, one]) => one!),
  );
  expect(labels, expr).to.include.members([...selected, ...matched]);
  for (const [open, close] of ['()', '{}', '[]']) {
    expect(expr.split(open!).length, `${open} in ${expr}`).to.equal(expr.split(close!).length);
  }
}

describe('docs/grafana/ioredisson.json', () => {
  const dashboard = JSON.parse(fs.readFileSync(path.join(folder, 'ioredisson.json'), 'utf8')) as Dashboard;

  // What Grafana needs to import a dashboard: kept by hand, after its schema (schemaVersion 39).
  it('has what an import needs', () => {
    expect(dashboard).to.include.keys('title', 'uid', 'schemaVersion', 'panels', 'templating', 'time', 'annotations');
    expect(dashboard).not.to.have.property('id');
    expect(dashboard.uid).to.match(/^[\w-]{1,40}$/);
    expect(dashboard.schemaVersion).to.be.at.least(36);
    expect(dashboard.time).to.deep.equal({ from: 'now-6h', to: 'now' });
    for (const variable of dashboard.templating.list) {
      expect(variable.name).to.match(/^\w+$/);
      expect(['datasource', 'query']).to.include(variable.type);
      expect(variable.query).not.to.equal(undefined);
    }
  });

  it('has panels that do not overlap, each with an id, a title, a description and targets', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
    const taken = new Set<string>();
    for (const { type, title, description, gridPos, targets } of panels) {
      expect(['timeseries', 'stat']).to.include(type);
      expect(title).not.to.equal('');
      expect(description).not.to.equal('');
      expect(gridPos.x + gridPos.w).to.be.at.most(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), `${title} overlaps`).to.equal(false);
          taken.add(`${x},${y}`);
        }
      }
      expect(new Set(targets.map(({ refId }) => refId)).size).to.equal(targets.length);
      for (const { datasource } of targets)
        expect(datasource).to.deep.equal({ type: 'prometheus', uid: '${datasource}' });
    }
  });

  it('uses variables that it has, and metrics that collectLockMetrics exports: all of them', async () => {
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const variables = dashboard.templating.list.map(({ name }) => name);
    for (const expr of expressions) {
      await expectKnown(expr);
      const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name!).filter((name) => !name.startsWith('__'));
      expect(variables).to.include.members(used);
    }
    const queries = dashboard.templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
    expect(queries).to.have.length(2);
    for (const query of queries) {
      const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query)!;
      expect([...((await series()).get(metric!) ?? []), ...ADDED]).to.include(label);
    }
    const metrics = new Set([...(await series()).keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    for (const metric of metrics) expect(expressions.join('\n')).to.contain(metric);
  });
});

describe('docs/something-hangs.md', () => {
  it('is where verdicts lead, with a section for each of them', () => {
    expect(RUNBOOK).to.equal(`${repository}/blob/main/docs/something-hangs.md`);
    const headings = fs.readFileSync(path.join(docs, 'something-hangs.md'), 'utf8').match(/^## .+$/gm) ?? [];
    const verdicts = ['free', 'held', 'stuck', 'dead-lock', 'holder-gone', 'not-renewed', 'no-expiry', 'wrong-type'];
    expect(headings.map((line) => slugify(line.slice(3)))).to.include.members(verdicts);
  });
});

describe('docs/grafana/alerts.yml', () => {
  const { groups } = parse(fs.readFileSync(path.join(folder, 'alerts.yml'), 'utf8')) as {
    groups: { name: string; rules: Rule[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);

  it('has rules for lost locks, waits and holds over a bound, renewal errors and holders that have gone', () => {
    expect(groups.map(({ name }) => name)).to.deep.equal(['ioredisson']);
    expect(rules.map(({ alert }) => alert)).to.deep.equal([
      'IoredissonLockLost',
      'IoredissonWaitTooLong',
      'IoredissonHoldTooLong',
      'IoredissonRenewalErrors',
      'IoredissonLongWaits',
      'IoredissonAcquisitionErrors',
      'IoredissonHolderGone',
    ]);
  });

  for (const rule of rules) {
    it(`${rule.alert} is a rule of Prometheus, on metrics that exist`, async () => {
      const unknown = Object.keys(rule).filter(
        (key) => !['alert', 'expr', 'for', 'labels', 'annotations'].includes(key),
      );
      expect(unknown).to.deep.equal([]);
      expect(rule.for ?? '1m').to.match(/^\d+[smh]$/);
      expect(['warning', 'critical']).to.include(rule.labels.severity);
      expect(rule.annotations.summary).not.to.equal('');
      expect(rule.annotations.description).not.to.equal('');
      const { runbook_url: runbook } = rule.annotations;
      const [page, anchor] = runbook.split('#');
      expect(page).to.equal(`${repository}/blob/main/docs/something-hangs.md`);
      const headings = fs.readFileSync(path.join(docs, 'something-hangs.md'), 'utf8').match(/^## .+$/gm) ?? [];
      expect(headings.map((line) => slugify(line.slice(3)))).to.include(anchor);
      await expectKnown(rule.expr);
      const shown = [...rule.annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!);
      for (const label of shown) expect(rule.expr).to.match(new RegExp(`by \\([^)]*\\b${label}\\b`));
    });
  }
});
