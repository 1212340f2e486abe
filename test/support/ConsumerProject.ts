import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';

/** How a program that a {@link ConsumerProject} ran has ended. */
export interface RunResult {
  /** -1 when it had to be killed. */
  readonly code: number;
  readonly output: string;
}

/** What a run is killed after. */
const RUN_TIMEOUT_MS = 60_000;

/** A project of somebody who uses the package, in a temporary folder, made without any network. */
export class ConsumerProject {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-consumer-'));

  /** `dependencies`: names of packages of the checkout that it has installed too. */
  constructor(dependencies: readonly string[]) {
    this.write('package.json', JSON.stringify({ name: 'consumer', private: true }));
    for (const name of dependencies) this.link(name, path.join(projectRoot, 'node_modules', name));
  }

  /** Installs a package as a link to `target`. */
  link(name: string, target: string): void {
    const place = path.join(this.folder, 'node_modules', name);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.symlinkSync(target, place, 'dir');
  }

  /**
   * Installs ioredisson as it is built, with its dependencies: no link, so that it finds the packages of the project.
   */
  installBuilt(): void {
    const place = path.join(this.folder, 'node_modules', 'ioredisson');
    fs.cpSync(path.join(projectRoot, 'dist'), path.join(place, 'dist'), { recursive: true });
    fs.copyFileSync(path.join(projectRoot, 'package.json'), path.join(place, 'package.json'));
    this.link('p-defer', path.join(projectRoot, 'node_modules', 'p-defer'));
  }

  /** Writes a file and returns its path. */
  write(name: string, text: string): string {
    const file = path.join(this.folder, name);
    fs.writeFileSync(file, text);
    return file;
  }

  /** Runs a command in the project; never rejects. @param timeout - what it is killed after, in ms */
  run(
    command: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    timeout = RUN_TIMEOUT_MS,
  ): Promise<RunResult> {
    const options = { cwd: this.folder, timeout, env: { ...process.env, ...env } };
    return new Promise((resolve) => {
      execFile(command, [...args], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, output: stdout + stderr });
      });
    });
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
