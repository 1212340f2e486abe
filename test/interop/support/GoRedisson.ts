import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findGo } from '../../support/findGo';

const run = promisify(execFile);

/** The program of the Go side. */
const SOURCE = path.join(__dirname, '..', 'go');
/** The first build compiles the standard library, too. */
const BUILD_MS = 480_000;
const MODULE = 'github.com/me-cs/goRedisson';

/** A Go driver that is built, or the reason why there is none. */
export type Driver = { readonly file: string } | { readonly reason: string };

let building: Promise<Driver> | undefined;

/**
 * Builds the driver, once per process. `GOREDISSON_SOURCE` names a folder with goRedisson, for where no module proxy
 * has it.
 */
export function goDriver(): Promise<Driver> {
  return (building ??= build());
}

async function build(): Promise<Driver> {
  const go = await findGo();
  if (go === undefined) return { reason: 'there is no go on the PATH' };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-go-'));
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  fs.cpSync(SOURCE, folder, { recursive: true });
  const options = { cwd: folder, timeout: BUILD_MS, env: { ...process.env, GOFLAGS: '-mod=mod' } };
  const own = process.env['GOREDISSON_SOURCE'];
  try {
    if (own !== undefined) await run(go, ['mod', 'edit', '-replace', `${MODULE}=${own}`], options);
    await run(go, ['build', '-o', 'driver', '.'], options);
    return { file: path.join(folder, 'driver') };
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const why = stderr.trim().split('\n').slice(-2).join(' ') || (error as Error).message;
    return { reason: `goRedisson could not be had or built: ${why.replace(/\s+/g, ' ').slice(0, 200)}` };
  }
}

/** What a worker of the Go side does. */
type Deed = 'lock' | 'rlock' | 'wlock' | 'unlock' | 'runlock' | 'wunlock';

/** A process with a client of goRedisson. A worker is a goroutine: the owner of its locks. */
export class GoRedisson {
  readonly #child: ChildProcess;
  readonly #calls = new Map<string, (answer: string) => void>();
  #count = 0;

  constructor(driver: string, url: string) {
    this.#child = spawn(driver, [url], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const [number = '', ...answer] = line.split(' ');
      this.#calls.get(number)?.(answer.join(' '));
      this.#calls.delete(number);
    });
  }

  /** @param limitMs - how long to wait; then it rejects, as with whatever goes wrong */
  async call(worker: string, deed: Deed, name: string, limitMs = 60_000): Promise<void> {
    const number = String(++this.#count);
    const answered = new Promise<string>((resolve) => this.#calls.set(number, resolve));
    this.#child.stdin!.write(`${number} ${worker} ${deed} ${name} ${limitMs}\n`);
    const answer = await answered;
    if (answer !== 'ok') throw new Error(`Go: ${answer}`);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGKILL');
    await closed;
  }
}
