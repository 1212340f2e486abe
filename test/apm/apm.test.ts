// Ids in titles: test/README.md
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { codeBlocks } from '../readme/markdown';
import { RedisServer, skip } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { ConsumerProject } from '../support/ConsumerProject';
import { installFolder } from '../../tools/installFolder';
import { IOREDIS_FOLDER, ioredisFolder } from '../matrix/ioredisFolder';
import type { Report, TracedCommand } from './TracedCommand';

/** What the program in `program.ts` is run under. */
interface Run {
  readonly title: string;
  readonly agent: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Whether commands on nobody's behalf are seen as well. */
  readonly roots: boolean;
  /** The version of ioredis, where it is not that of the checkout. */
  readonly ioredis?: string;
}

const NEWEST = '@opentelemetry/instrumentation-ioredis';
const OLDER = 'instrumentation-ioredis-older';

const RUNS: readonly Run[] = [
  { title: 'instrumentation-ioredis, default settings', agent: 'opentelemetry', roots: false },
  {
    title: 'instrumentation-ioredis, also without a parent',
    agent: 'opentelemetry',
    env: { APM_ROOTS: '1' },
    roots: true,
  },
  {
    title: 'an older instrumentation-ioredis on ioredis 5.6.0',
    agent: 'opentelemetry',
    env: { APM_INSTRUMENTATION: OLDER, APM_ROOTS: '1' },
    roots: true,
    ioredis: '5.6.0',
  },
  { title: 'dd-trace', agent: 'datadog', roots: true },
  { title: 'the tracing channels of ioredis', agent: 'channels', roots: true },
];

/** Commands that open a connection or belong to the program. */
const OTHERS = new Set(['connect', 'hello', 'client', 'info', 'auth', 'select', 'flushall', 'set', 'pubsub']);

describe('APM agents see the commands of ioredisson like any other of ioredis (B3)', function () {
  this.timeout(120_000);
  let server: RedisServer;

  before(async function () {
    this.timeout(600_000);
    if (!installFolder(__dirname, 'the APM agents', (line) => console.log(line))) {
      skip(this, 'the APM agents could not be installed (npm ci in test/apm failed)');
    }
    server = await RedisServer.start();
  });

  after(() => server?.stop());

  for (const run of RUNS) {
    describe(run.title, () => {
      let report: Report;

      before(async function () {
        if (run.ioredis !== undefined && ioredisFolder(run.ioredis) === undefined) {
          skip(this, `ioredis ${run.ioredis} could not be installed`);
        }
        report = await traced(run, server.url);
      });

      const commandsOf = (scenario: string): readonly TracedCommand[] =>
        report[scenario]!.filter(({ name }) => !OTHERS.has(name.toLowerCase()));
      const under = (scenario: string, parent: string | undefined): readonly TracedCommand[] =>
        commandsOf(scenario).filter((command) => command.parent === parent);
      const names = (commands: readonly TracedCommand[]): string[] => commands.map(({ name }) => name.toLowerCase());

      it('lock() and unlock() are one command each, of their caller', () => {
        expect(scripts(under('lock and unlock', 'caller'))).to.deep.equal(['evalsha', 'evalsha']);
      });

      it('callers of one turn have each their own, although they are written together', () => {
        for (let i = 0; i < 40; i++) {
          const own = under('callers of one turn', `caller-${i}`);
          expect(scripts(own)).to.have.lengthOf(2);
          for (const { text } of own) expect(text.split(' ')).to.include(`turn-${i}`);
        }
      });

      it('what waited for the connection is of its caller, and connecting is nobody’s', () => {
        for (const caller of ['early', 'earlier']) {
          const own = under('not connected yet', caller);
          expect(names(own)).to.deep.equal(['get']);
          expect(own[0]!.text).to.match(new RegExp(`\\{${caller}\\}$`));
        }
        expect(report['not connected yet']!.filter(({ parent }) => parent === 'creator')).to.deep.equal([]);
      });

      it('the attempts of a waiter are the waiter’s, whoever wakes it', () => {
        const scenario = 'waiting';
        expect(scripts(under(scenario, 'waiter'))).to.have.length.of.at.least(2);
        for (const once of ['holder', 'releaser', 'leaver']) expect(names(under(scenario, once))).to.have.lengthOf(1);
        const listening = commandsOf(scenario).filter(({ name }) => /subscribe/i.test(name));
        expect(listening.filter(({ parent }) => parent !== undefined)).to.deep.equal([]);
      });

      it('a hand-over is the releaser’s', () => {
        for (const once of ['holder', 'releaser', 'leaver']) {
          expect(scripts(under('hand-over', once)), once).to.have.lengthOf(1);
        }
      });

      it('what is sent again after a broken connection is its caller’s, the broken one with its error', () => {
        const own = under('sent again', 'caller').filter(({ name }) => /^eval/i.test(name));
        expect(own).to.have.lengthOf(2);
        expect(own.filter(({ error }) => (error ?? '') !== '')).to.have.lengthOf(1);
      });

      it('what is sent again after a time-out is its caller’s', () => {
        const own = under('sent again after a time-out', 'caller').filter(({ name }) => /^eval/i.test(name));
        expect(own).to.have.length.of.at.least(2);
        expect(own.filter(({ error }) => (error ?? '') === '')).to.have.lengthOf(1);
      });

      it('renewals, undo and pings are nobody’s', () => {
        const scenario = 'nobody’s';
        for (const once of ['caller', 'undone', 'releaser', 'leaver']) {
          expect(scripts(under(scenario, once)), once).to.have.lengthOf(1);
        }
        if (!run.roots) return;
        const nobodys = names(under(scenario, undefined));
        expect(nobodys.filter((name) => name === 'evalsha')).to.have.length.of.at.least(3);
        // The undo goes with its text.
        expect(nobodys).to.include('eval');
        expect(nobodys).to.include('ping');
      });

      it('an error is shown where it came', () => {
        const [refused] = under('refused', 'caller').filter(({ error }) => /WRONGTYPE/.test(error ?? ''));
        expect(refused?.name.toLowerCase()).to.match(/^eval/);
      });

      it('a caller’s AsyncLocalStorage is its own after lock() and unlock()', () => {
        // The program ends with an error otherwise.
        expect(report).to.have.property('contexts');
        for (const { parent } of commandsOf('contexts')) expect(parent).to.equal(undefined);
      });
    });
  }

  describe('as users start them, with the first example of the README', () => {
    let project: ConsumerProject;

    before(() => {
      ensureBuilt();
      project = new ConsumerProject(['ioredis']);
      project.link('ioredisson', projectRoot);
      for (const name of ['@opentelemetry/api', '@opentelemetry/auto-instrumentations-node', 'dd-trace']) {
        project.link(name, path.join(__dirname, 'node_modules', name));
      }
      const example = firstExample();
      project.write('first.mjs', example);
      const [imports, rest] = [example.match(/^import .*$/gm)!.join('\n'), example.replace(/^import .*$/gm, '')];
      project.write(
        'request.mjs',
        `import { trace } from '@opentelemetry/api';\n${imports}\n` +
          `await trace.getTracer('test').startActiveSpan('request', async (span) => {\n${rest}\nspan.end();\n});\n`,
      );
    });

    after(() => project?.remove());

    const run = (agent: string, program: string, env: NodeJS.ProcessEnv) =>
      project.run(process.execPath, ['--require', agent, program], { REDIS_URL: server.url, ...env });
    const CONSOLE = { OTEL_TRACES_EXPORTER: 'console', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
    const AUTO = '@opentelemetry/auto-instrumentations-node/register';

    it('node --require @opentelemetry/auto-instrumentations-node/register', async () => {
      const { code, output } = await run(AUTO, 'first.mjs', CONSOLE);
      expect(output).to.match(/^42$/m);
      expect(code, output).to.equal(0);
    });

    it('the same within a span, which has the commands as its children', async () => {
      const { code, output } = await run(AUTO, 'request.mjs', CONSOLE);
      expect(code, output).to.equal(0);
      // Its default settings show commands that have a parent, and no others.
      expect(output.match(/name: 'eval(sha)?'/g) ?? [], output).to.have.length.of.at.least(2);
    });

    it('node --require dd-trace/init, without an agent to report to', async () => {
      const { code, output } = await run('dd-trace/init', 'first.mjs', { DD_TRACE_STARTUP_LOGS: 'false' });
      expect(output).to.match(/^42$/m);
      expect(code, output).to.equal(0);
    });
  });
});

/** The scripts among some commands; one whose server did not know it yet counts once. */
function scripts(commands: readonly TracedCommand[]): string[] {
  return commands
    .filter(({ name, error }) => /^eval/i.test(name) && !/NOSCRIPT/.test(error ?? ''))
    .map(({ name }) => name.toLowerCase().replace(/^eval$/, 'evalsha'));
}

/** Runs the program under an agent. */
function traced(run: Run, url: string): Promise<Report> {
  const args = ['--require', path.join(projectRoot, 'tools', 'register.cjs')];
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    APM_AGENT: run.agent,
    APM_INSTRUMENTATION: NEWEST,
    ...run.env,
    ...(run.ioredis !== undefined && { [IOREDIS_FOLDER]: ioredisFolder(run.ioredis) }),
  };
  const options = { cwd: projectRoot, env, timeout: 100_000, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...args, path.join(__dirname, 'program.ts'), url], options, (error, stdout, stderr) => {
      const at = stdout.indexOf('\nREPORT ');
      if (error !== null || at < 0) reject(new Error(`${run.title}: ${error?.message ?? 'no report'}\n${stderr}`));
      else resolve(JSON.parse(stdout.slice(at + '\nREPORT '.length)) as Report);
    });
  });
}

/** The first TypeScript block of the README, as JavaScript. */
function firstExample(): string {
  const blocks = codeBlocks(fs.readFileSync(path.join(projectRoot, 'README.md'), 'utf8'));
  const block = blocks.find(({ language }) => language === 'ts')!;
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(block.code, { compilerOptions }).outputText;
}
