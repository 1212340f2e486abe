import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';

const PROJECT = path.join(__dirname, '..', 'java');
const MAIN_CLASS = 'ioredisson.interop.Driver';

const built = new Map<string, Promise<string[]>>();

/**
 * The arguments that start the driver with this Redisson: class path and main class, for `java`.
 *
 * Built by Maven into `java/target/<version>/` unless that folder already holds what the present sources give; the
 * folder of a finished build carries their hash. Later runs therefore start no Maven at all.
 *
 * @param version - of Redisson, e.g. `4.7.0`
 */
export function javaArguments(version: string): Promise<string[]> {
  let build = built.get(version);
  if (build === undefined) {
    // Sequential: two Mavens that fill one empty local repository get into each other's way.
    build = Promise.allSettled([...built.values()]).then(() => buildUnlessThere(version));
    built.set(version, build);
  }
  return build;
}

async function buildUnlessThere(version: string): Promise<string[]> {
  const target = path.join(PROJECT, 'target', version);
  const stamp = path.join(target, 'built-from');
  const sources = hashOfSources();
  if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== sources) {
    fs.rmSync(target, { recursive: true, force: true });
    await maven(version);
    fs.writeFileSync(stamp, sources);
  }
  return [
    '-cp',
    [path.join(target, 'driver.jar'), path.join(target, 'dependency', '*')].join(path.delimiter),
    MAIN_CLASS,
  ];
}

async function maven(version: string): Promise<void> {
  const goals = ['package', 'dependency:copy-dependencies'];
  const args = ['-q', '-B', '-Dstyle.color=never', `-Dredisson.version=${version}`, ...goals];
  const child = spawn('mvn', args, { cwd: PROJECT, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`mvn ended with ${code} for Redisson ${version}:\n${output.slice(-4000)}`);
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  const files = fs.readdirSync(path.join(PROJECT, 'src'), { recursive: true, withFileTypes: true });
  const sources = files.filter((file) => file.isFile()).map((file) => path.join(file.parentPath, file.name));
  for (const file of [path.join(PROJECT, 'pom.xml'), ...sources.sort()]) {
    hash.update(path.relative(PROJECT, file)).update('\0').update(fs.readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}
