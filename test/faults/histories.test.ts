import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { projectRoot } from '../../tools/buildOutput';
import { describePorcupine, type PorcupineJudge, porcupineJudge, testPorcupine } from '../histories/porcupine';
import { describeVerdict } from '../histories/report';
import { type RunResult, runHistory } from '../histories/runHistory';
import { skip } from '../support';

/* A short history, with one seed: `npm run test:histories` makes long ones, with fresh seeds. */
const SEED = 1;
const RUN_MS = 5_000;

describe('a history of several processes under faults', function () {
  this.timeout(600_000);
  let porcupine: PorcupineJudge;
  let result: RunResult;

  before(async () => {
    porcupine = await porcupineJudge();
    result = await runHistory({
      seed: SEED,
      ops: Infinity,
      timeMs: RUN_MS,
      calmMs: 600,
      processes: 2,
      clients: 2,
      actors: 8,
      porcupine,
    });
  });

  // The history stays where something is wrong.
  after(function () {
    const wrong = this.test?.parent?.tests.some(({ state }) => state === 'failed');
    if (result !== undefined && wrong !== true) fs.rmSync(result.folder, { recursive: true });
  });

  it('has nothing wrong in it', () => {
    const { findings, kinds, operations } = result.verdict!;
    expect(findings, `${result.folder}\n${describeVerdict(result.verdict!).join('\n')}`).to.deep.equal([]);
    expect(operations).to.be.greaterThan(0);
    expect(kinds.size).to.be.greaterThan(0);
  });

  it('has nothing wrong in it for porcupine either, and nothing that it could not judge', function () {
    if ('reason' in porcupine) return skip(this, porcupine.reason);
    const { findings, unknown, calls, operations } = result.porcupine!;
    const text = `${result.folder}\n${describePorcupine(result.porcupine!).join('\n')}`;
    expect({ findings, unknown }, text).to.deep.equal({ findings: [], unknown: [] });
    expect(calls).to.equal(result.operations);
    expect(operations).to.be.greaterThan(0);
  });

  it('without the module porcupine is skipped with its reason, and the command does not fail', async function () {
    if ('reason' in porcupine) return skip(this, porcupine.reason);
    const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-no-module-'));
    try {
      const env = { ...process.env, GOPROXY: 'off', GOMODCACHE: empty, GOFLAGS: '-modcacherw' };
      const args = [
        path.join(projectRoot, 'tools/bootstrap.cjs'),
        'ts',
        'test/histories/main.ts',
        '--judge',
        'porcupine',
      ];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot, env });
      expect(stdout).to.match(/^skipped: porcupine: porcupine could not be had: .*GOPROXY=off/);
    } finally {
      fs.rmSync(empty, { recursive: true });
    }
  });

  it('histories made by hand: porcupine refuses each that is wrong, and accepts those that are right', async function () {
    if ('reason' in porcupine) return skip(this, porcupine.reason);
    await testPorcupine(porcupine.go);
  });
});
